"""The two parts of docs/reliability.md: scenarios (scripts/faults) and random worlds (scripts/soak).

Each script writes its part and keeps the other.
"""
import pathlib

WORLDS = "\n## Random worlds\n"


def write(path, scenarios=None, worlds=None):
    path = pathlib.Path(path)
    before, _, after = (path.read_text() if path.exists() else "").partition(WORLDS)
    worlds = after if worlds is None else worlds
    path.write_text((before if scenarios is None else scenarios) + (WORLDS + worlds if worlds else ""))
