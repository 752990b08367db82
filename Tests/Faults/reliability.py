"""The two parts of docs/reliability.md: the scenarios (scripts/faults) and the random worlds (scripts/soak). Each writes its own and keeps the other."""
import pathlib

WORLDS = "\n## Random worlds\n"


def write(path, scenarios=None, worlds=None):
    path = pathlib.Path(path)
    before, _, after = (path.read_text() if path.exists() else "").partition(WORLDS)
    worlds = after if worlds is None else worlds
    path.write_text((before if scenarios is None else scenarios) + (WORLDS + worlds if worlds else ""))
