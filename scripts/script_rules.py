"""Checks rules for the Redis scripts in Sources/RedisBroker/Scripts. Prints violations and exits with 1."""
import pathlib
import re
import sys

root = pathlib.Path("Sources/RedisBroker/Scripts")
scripts = {path.stem: path for path in root.glob("*.lua")}
includes = {path.stem: path for path in (root / "includes").rglob("*.lua")}
failures = []

# Two fast paths repeat the work of their scripts without the included functions. ShortWayTests compares the results.
FAST_PATHS = {"enqueue_single", "claim_single"}
WRITING = set(
    "RPUSH LPUSH LPOP RPOP LREM LTRIM LMOVE ZADD ZREM ZREMRANGEBYRANK ZPOPMIN ZPOPMAX ZINCRBY HDEL HSET HSETNX HINCRBY RENAME RENAMENX DEL UNLINK "
    "SET SETRANGE APPEND MSET MSETNX".split()
)
# Keys that hold no operations: counters, workers, requests, extras of a record
OTHERS = (
    r"(META|TOTALS|STANDING|SCHEDULES|DUE|UNIQUE|OUTBOX|OUTBOXES|ASKING)\b|outbox_of\(|(behind|needs|inputs|dependents|remote|extras|errors|log)_key\("
    r"|PREFIX \.\. '(wake|stream|leases|worker:|numbers|cancelling:|intents|lost|builds|full|fresh|keyLimits|keyBuckets|awaited|calls:|outboxes|statistics:)"
)
# Variables with keys that their file does not spell out, and why they may be written
VARIABLES = {
    ("audit", "key"): "each of these functions carries out a fix of the doctor",
    ("audit_place", "key"): "a fix of the doctor in the place that it walks",
    ("purge", "key"): "a purge removes operations from their places",
    ("take_statistics", "about"): "callers give the key of a worker",
}


def code_of(path):
    """Returns the lines without comments and quoted texts."""
    lines = [re.sub(r"(^|\s)--.*", "", line) for line in path.read_text().splitlines()]
    return [re.sub(r"'[^']*'", "''", line) for line in lines]


def needs_of(path):
    return re.findall(r"^-- include: (\w+)$", path.read_text(), re.MULTILINE)


def all_needs(path, seen):
    for name in needs_of(path):
        if name not in includes:
            failures.append(f"{path}: includes {name}, which is no file of {root}/includes")
        elif name not in seen:
            seen.add(name)
            all_needs(includes[name], seen)
    return seen


def defined_in(path):
    """Returns the names that a file defines at its outermost level."""
    found = set()
    for line in code_of(path):
        if match := re.match(r"local function (\w+)", line):
            found.add(match[1])
        elif match := re.match(r"local ([\w, ]+)", line):
            found.update(name.strip() for name in match[1].split(","))
    return found


def own_names(text):
    """Returns every local, parameter and loop variable of a file."""
    found = set(re.findall(r"local function (\w+)", text))
    for names in re.findall(r"local ([\w, ]+)", text) + re.findall(r"function[ \w.]*\(([\w, ]*)\)", text) + re.findall(r"for ([\w, ]+?) (?:in|=)", text):
        found.update(name.strip() for name in names.split(","))
    return found


# Every script may use the definitions of the base.
base = set()
for path in (root / "includes/base").glob("*.lua"):
    if path.stem in ("start", "clock", "rest"):
        base |= defined_in(path)
owner = {name: stem for stem, path in includes.items() if stem not in FAST_PATHS for name in defined_in(path) if name not in base}
LUA = set("and break do else elseif end false for function if in local nil not or repeat return then true until while".split())
LUA |= set("redis cmsgpack string table math tonumber tostring ipairs pairs next unpack KEYS ARGV".split())


def check_assignments(path):
    """A variable of an include is assigned by that include alone."""
    lines = code_of(path)
    own = own_names("\n".join(lines)) | defined_in(path)
    for number, line in enumerate(lines, 1):
        targets = re.match(r"\s*([a-z_]\w*(?:, *[a-z_]\w*)*) = ", line)
        names = [name.strip() for name in targets[1].split(",")] if targets else []
        names += re.findall(r"\b(?:then|else|do) ([a-z_]\w*) = ", line) + re.findall(r"^function (\w+)\(", line)
        for name in names:
            if name in owner and name not in own:
                failures.append(f"{path}:{number}: assigns {name} of {owner[name]}; give that include a function for it")


def check_needs(path, seen):
    """Checks that a file includes what it uses."""
    text = "\n".join(code_of(path))
    words = set(re.findall(r"(?<![.:\w])[A-Za-z_]\w*", re.sub(r"([{,]\s*)\w+ = ", r"\1", text))) - own_names(text)
    for word in sorted(words & owner.keys()):
        if owner[word] not in seen and owner[word] != path.stem:
            failures.append(f"{path}: uses {word} of {owner[word]}.lua and does not include it")
    for word in sorted(words - owner.keys() - base - LUA):
        failures.append(f"{path}: uses {word}, which no file that it includes defines")


def lines_of(path):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        yield number, re.sub(r"(^|\s)--.*", "", line)


def check_positions(path):
    """Checks that positions in headers and records are only in the folder record."""
    for number, line in lines_of(path):
        text = line.replace("sub(element, 1, SHOWN_BYTES)", "").replace("sub(DIGITS,", "").replace("call('SET', PREFIX .. 'full'", "")
        if re.search(r"\b(sub|byte)\(.*\d|GETRANGE', [^,]+, *'?\d+'?, *'?\d|SETRANGE|MSETNX|call\('SET'", text):
            failures.append(f"{path}:{number}: a position in a record, or a write of one, outside of includes/record: {line.strip()}")


def holds_no_operations(path, key):
    """Returns whether a key holds no operations. Looks up what the file assigns to a variable."""
    if not re.fullmatch(r"\w+", key) or re.fullmatch(OTHERS, key):
        return re.match(OTHERS, key) is not None
    values = values_of(path.read_text(), key)
    return (path.stem, key) in VARIABLES or (values != [] and all(re.match(OTHERS, value) for value in values))


def values_of(text, name):
    """Returns the expressions that a file assigns to a variable, and those that callers pass for a parameter."""
    found = []
    for names, values in re.findall(r"local ([\w, ]+?) = (.+)", text):
        names = [each.strip() for each in names.split(",")]
        if name in names:
            found.append(values.split(", ")[names.index(name)] if len(names) > 1 else values)
    found += re.findall(rf"^\s*{name} = (.+)", text, re.MULTILINE)
    for function, parameters in re.findall(r"function ([\w.]+)\(([\w, ]*)\)", text):
        parameters = [each.strip() for each in parameters.split(",")]
        if name in parameters:
            for arguments in re.findall(rf"(?<!function ){re.escape(function)}\((.*)\)", text):
                value = arguments.split(", ")[parameters.index(name)]
                if value != name:
                    found.append(value)
    return found


def check_moves(path):
    """Checks that only lifecycle changes places of operations or heads of records. Others write only to OTHERS."""
    for number, line in lines_of(path):
        for command, key in re.findall(r"call\('([A-Z]+)', ([^,)]*)", line):
            if command in WRITING and not holds_no_operations(path, key):
                failures.append(f"{path}:{number}: {command} of {key} outside of includes/lifecycle")
        if re.search(r"\b(write_head|forget_fence)\(", line):
            failures.append(f"{path}:{number}: a record is changed outside of includes/lifecycle: {line.strip()}")


def check_extras(path):
    """Checks that only record/extras writes the fields of a cancel and of a hold."""
    for number, line in lines_of(path):
        if re.search(r"call\('(HSET|HSETNX|HDEL|HINCRBY)', .*'(cancel(At|By|Reason|Standing|Forced\w*|AcknowledgedAt|StoppedAt)|held(At|By|Reason|From))'", line):
            failures.append(f"{path}:{number}: a field of a cancel or a hold is written outside of includes/record/extras.lua: {line.strip()}")


def check_commands(path):
    """Checks that each command is spelled out where it is called: the access rules are read from the scripts."""
    for number, line in lines_of(path):
        if re.search(r"\bcall\((?!')(?!range, key)", line):
            failures.append(f"{path}:{number}: a command that is not spelled out: {line.strip()}")


for path in [*scripts.values(), *includes.values()]:
    check_needs(path, all_needs(path, {path.stem}))
    check_assignments(path)
    if path.stem != "extras":
        check_extras(path)
    folder = path.parent.name
    if folder not in ("record", "base") and path.stem not in FAST_PATHS:
        check_positions(path)
    if folder not in ("lifecycle", "record") and path.stem not in FAST_PATHS:
        check_moves(path)
    check_commands(path)
for stem in includes.keys() - set().union(*(all_needs(path, set()) for path in scripts.values())) - {"test_clock"}:
    failures.append(f"{includes[stem]}: no script includes it")
listed = set(re.findall(r'case "(\w+)":', pathlib.Path("Sources/RedisBroker/Library/ScriptIncludes.swift").read_text()))
for stem in sorted(listed ^ (includes.keys() - {"test_clock"})):
    failures.append(f"ScriptIncludes.swift and {root}/includes do not agree on {stem}")
architecture = pathlib.Path("docs/architecture.md").read_text()
for stem in sorted(includes.keys() | scripts.keys()):
    if f"`{stem}`" not in architecture and f"`{stem}.lua`" not in architecture:
        failures.append(f"docs/architecture.md names every script and include, but not {stem}")
# The tables of the paths name a function and its file.
for name, file in re.findall(r"\| `((?!\w+\.lua)[\w.]+)(?:\([\w:]*\))?` \| `([\w/+.]+\.(?:swift|lua))` \|", architecture):
    path, function = pathlib.Path("Sources") / file, name.split(".")[-1]
    if not path.exists() or not re.search(rf"func(tion)? {function}\b", path.read_text()):
        failures.append(f"docs/architecture.md: {path} has no function {function}")
print("\n".join(dict.fromkeys(failures)))
sys.exit(bool(failures))
