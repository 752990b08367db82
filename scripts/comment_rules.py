"""Checks comments in Swift and Lua: at most 120 characters a line, and no comment begins without its noun."""
import pathlib
import re
import sys

MOST = 120
# Words that stand for a noun of another sentence, or begin a clause that has to be read twice.
WITHOUT_NOUN = re.compile(r"(What|Whose|Whatever|Of one that|It|They)\b")
MARKS = {".swift": r"\s*//+ ?(.*)", ".lua": r"\s*-- ?(.*)"}
failures = []


def check(path):
    mark, is_inside = re.compile(MARKS[path.suffix]), False
    for number, line in enumerate(path.read_text().splitlines(), 1):
        comment = mark.match(line)
        if comment and len(line) > MOST:
            failures.append(f"{path}:{number}: a comment of {len(line)} characters, at most {MOST} are allowed")
        if comment and not is_inside and WITHOUT_NOUN.match(comment[1]):
            failures.append(f"{path}:{number}: a comment that begins with \"{comment[1].split()[0]}\": name the thing")
        is_inside = bool(comment)


for folder in ("Sources", "Tests", "Examples", "Benchmarks"):
    for path in sorted(pathlib.Path(folder).rglob("*")):
        if path.suffix in MARKS and not any(part.startswith(".") for part in path.parts):
            check(path)
print("\n".join(failures))
sys.exit(bool(failures))
