"""The features of which worlds are made. Each is a function that adds itself to a world.

`OF_LINES` change operations before the enqueue. `OF_WORLDS` add settings, commands and faults.
"""
from world import STORM, STORMS, Command, Fault, moment

OF_LINES, OF_WORLDS = {}, {}
# Exit codes of refused changes: unknown, timed out, not possible in this state, some of several
REFUSALS = (3, 4, 5, 6)


def of_lines(share):
    """Registers a feature for a share of the operations."""
    def register(function):
        OF_LINES[function.__name__.replace("_", "-")] = (share, function)
        return function

    return register


def of_worlds(function):
    OF_WORLDS[function.__name__.replace("_", "-")] = function
    return function


# Operations

@of_lines(0.3)
def priorities(world, line, chance):
    line["priority"] = chance.choice(["veryLow", "low", "high", "veryHigh"])


@of_lines(0.3)
def delays(world, line, chance):
    line["in"] = f"{chance.uniform(0.2, 5):.1f}s"


@of_lines(0.15)
def expiries(world, line, chance):
    line["expires"] = f"{chance.uniform(0.5, 8):.1f}s"


@of_lines(0.2)
def retries(world, line, chance):
    """Each failed attempt is followed by another one soon; some fail for good."""
    line["attempts"] = chance.randint(1, 2)
    if line["name"] == "exec":
        fails = "true" if chance.random() < 0.4 else "[ $SLUICE_ATTEMPT -lt 2 ]"
        line["body"] += f"; {fails} && exit 1"


@of_lines(0.15)
def snoozes(world, line, chance):
    if line["name"] == "exec":
        line["body"] = f"[ -e $LEDGER.$SLUICE_OPERATION_ID ] || {{ touch $LEDGER.$SLUICE_OPERATION_ID; exit 75; }}; {line['body']}"
        line["args"]["snooze"] = 1


@of_lines(0.2)
def untracked(world, line, chance):
    line["track"] = False


@of_lines(0.4)
def limit_keys(world, line, chance):
    line["limitKey"] = f"key-{chance.randrange(4)}"


@of_lines(0.2)
def unique_keys(world, line, chance):
    line["unique"] = f"unique-{chance.randrange(6)}"
    line["ifExists"] = chance.choice(["join", "skip", "replace", "enqueue", "keepLatest", "debounce=1s"])
    if line["ifExists"].startswith("debounce"):
        line.pop("in", None)
    if line["ifExists"] in ("join", "skip") and chance.random() < 0.5:
        line["freshFor"] = "3s"


def may_be_needed(line):
    """Returns whether others may depend on an operation: no other one replaces it, and it leaves a record."""
    return "unique" not in line and line.get("track", True)


def need(world, line, chance, among):
    earlier = [other for other in world.lines_before(line["at"])[-60:] if may_be_needed(other) and among(other)]
    for other in chance.sample(earlier, min(len(earlier), chance.randint(1, 2))):
        policy = chance.choice(["cancel", "run", "hold"])
        line["needs"].append((other["text"], policy))
        line.setdefault("after", []).append(f"{other['queue']}/{other['id']}:{policy}")


@of_lines(0.25)
def dependencies(world, line, chance):
    need(world, line, chance, lambda other: other["queue"] == line["queue"])


@of_lines(0.25)
def remote_dependencies(world, line, chance):
    need(world, line, chance, lambda other: other["queue"] != line["queue"])


@of_lines(0.2)
def names(world, line, chance):
    """Not every worker knows each name."""
    if "body" in line and not any(feature in line for feature in ("attempts",)):
        line["name"] = chance.choice(["greet", "count"])
        line["args"] = {}


@of_lines(0.1)
def children(world, line, chance):
    """The program enqueues another operation, with an id: repeated runs of the program enqueue only one."""
    if line["name"] == "exec":
        queue = chance.choice(world.queues)
        line["body"] = f"$SLUICE enqueue noop -q {queue} --id child-of-{line['text']} --quiet; {line['body']}"


# Queues and workers

@of_worlds
def concurrency(world, chance):
    world.limits[chance.choice(world.queues)]["concurrency"] = chance.randint(1, 2)


@of_worlds
def rates(world, chance):
    world.limits[chance.choice(world.queues)] |= {"rate": f"{chance.randint(8, 20)}/s", "burst": chance.randint(1, 5)}


@of_worlds
def key_concurrency(world, chance):
    world.limits[chance.choice(world.queues)]["key.concurrency"] = chance.randint(1, 2)


@of_worlds
def key_rates(world, chance):
    world.limits[chance.choice(world.queues)] |= {"key.rate": f"{chance.randint(5, 10)}/s", "key.burst": chance.randint(1, 3)}


@of_worlds
def weights(world, chance):
    for worker in world.workers:
        worker.queues = ",".join(f"{queue}:{chance.randint(1, 4)}" for queue in worker.queues.split(","))


@of_worlds
def processes(world, chance):
    world.workers[-1].options += ["--processes", "2"]


@of_worlds
def schedules(world, chance):
    for number in range(2):
        policy = chance.choice([[], ["--if-exists", "skip"], ["--if-exists", "replace"], ["--if-exists", "enqueue"], ["--if-exists", "keepLatest"]])
        queue = chance.choice(world.queues)
        world.setup.append(Command(0, ["schedule", "add", f"every-{number}", "sleep", "seconds:=0.3", "-q", queue, "--every", "1s", *policy]))


# Groups

def open_group(world, text, queue, *options):
    world.setup.append(Command(0, ["group", "open", text, "-q", queue, "--id", text, *options]))
    world.groups[text] = queue


def callback(world, chance, group, when):
    text = f"{when}-{group}"
    line = {
        "at": 0, "storm": None, "text": text, "id": text, "name": "exec", "args": {}, "body": "sleep 0.05", "queue": world.groups[group],
        "needs": [], when: group,
    }
    world.lines.append(line)
    world.setup.append(Command(0, ["enqueue", "--batch", "-"], [line]))


def of_group(world, feature, group, share):
    for line in world.lines:
        chance = world.chance(feature, group, line["text"])
        if line["storm"] is not None and chance.random() < share and len(line.get("group", [])) < 3:
            line.setdefault("group", []).append(f"{world.groups[group]}/{group}")


@of_worlds
def groups(world, chance):
    for number in range(2):
        group = f"group-{number}"
        open_group(world, group, chance.choice(world.queues))
        of_group(world, "groups", group, 0.15)
        for when in ("onSuccess", "onEnd", "onFirstDeath"):
            callback(world, chance, group, when)


@of_worlds
def nested_groups(world, chance):
    open_group(world, "outer", chance.choice(world.queues))
    open_group(world, "inner", chance.choice(world.queues), "--group", f"{world.groups['outer']}/outer")
    of_group(world, "nested", "inner", 0.1)
    callback(world, chance, "outer", "onEnd")
    callback(world, chance, "inner", "onSuccess")


@of_worlds
def growing_groups(world, chance):
    """Existing operations are added, and the group is abandoned: a worker closes or cancels it."""
    open_group(world, "growing", chance.choice(world.queues), "--lease", "6s", "--if-abandoned", chance.choice(["close", "cancel"]))
    for storm in range(STORMS):
        at, order = moment(storm, chance, 2)
        for line in chance.sample(world.lines_before(order), 4):
            add(world, storm, at, "group", "add", f"{world.groups['growing']}/growing", place(line))
    callback(world, chance, "growing", "onEnd")


# Changes by people

def place(line):
    return f"{line['queue']}/{line['id']}"


def add(world, storm, at, *words):
    world.add(storm, Command(at, list(words), allowed=REFUSALS))


def on_some(world, chance, count, *words, first=1.0, behind=()):
    """Adds one command for recently enqueued operations, in each storm."""
    for storm in range(STORMS):
        for _ in range(count):
            at, order = moment(storm, chance, first)
            lines = [line for line in world.lines_before(order)[-25:] if "unique" not in line]
            if lines:
                add(world, storm, at, *words, place(chance.choice(lines)), *behind)


@of_worlds
def holds(world, chance):
    for storm in range(STORMS):
        for _ in range(4):
            at, order = moment(storm, chance, 1)
            line = chance.choice(world.lines_before(order)[-25:])
            add(world, storm, at, "hold", place(line))
            if chance.random() < 0.7:
                add(world, storm, at + chance.uniform(0.5, 4), "release", place(line))


@of_worlds
def edits(world, chance):
    on_some(world, chance, 3, "edit", behind=("-p", chance.choice(["low", "veryHigh"])))
    on_some(world, chance, 2, "edit", behind=("--in", "2s"))


@of_worlds
def pauses(world, chance):
    for storm in range(STORMS):
        queue, at = chance.choice(world.queues), chance.uniform(0, STORM - 4)
        add(world, storm, at, "queue", "pause", queue)
        add(world, storm, at + chance.uniform(1, 4), "queue", "resume", queue)


@of_worlds
def cancels(world, chance):
    on_some(world, chance, 3, "cancel")
    on_some(world, chance, 2, "cancel", behind=("--wait=20s",))
    on_some(world, chance, 1, "cancel", behind=("--force",))


@of_worlds
def tree_cancels(world, chance):
    on_some(world, chance, 2, "cancel", behind=("--tree", "-y"))


@of_worlds
def query_cancels(world, chance):
    for storm in range(STORMS):
        add(world, storm, chance.uniform(1, STORM), "cancel", "-w", f"queue:{chance.choice(world.queues)} tag:t{chance.randrange(6)}", "-y")


@of_worlds
def queue_cancels(world, chance):
    add(world, chance.randrange(STORMS), chance.uniform(2, STORM), "cancel", "-q", chance.choice(world.queues), "-y")


@of_worlds
def standing_cancels(world, chance):
    add(world, chance.randrange(STORMS), chance.uniform(0, STORM), "cancel", "-w", f"tag:t{chance.randrange(6)}", "--until", "4s", "-y")


@of_worlds
def reruns(world, chance):
    on_some(world, chance, 2, "retry")
    for storm in range(STORMS):
        add(world, storm, chance.uniform(4, STORM), "retry", "-w", "state:dead", "-y")


@of_worlds
def tree_reruns(world, chance):
    on_some(world, chance, 3, "retry", first=3.0, behind=("--tree", "-y"))


@of_worlds
def group_changes(world, chance):
    """Changes groups that other features open: a dead group runs again or is removed."""
    for group, queue in world.groups.items():
        for storm in range(STORMS):
            verb = chance.choice([["group", "cancel"], ["retry"], ["retry", "--tree", "-y"], ["rm"]])
            add(world, storm, chance.uniform(5, STORM), *verb, f"{queue}/{group}")


@of_worlds
def removals(world, chance):
    for storm in range(STORMS):
        add(world, storm, chance.uniform(4, STORM), "rm", "-w", chance.choice(["state:cancelled", "state:finished", "state:dead"]), "-y")


@of_worlds
def needs_changes(world, chance):
    for storm in range(STORMS):
        for _ in range(3):
            at, order = moment(storm, chance, 2)
            first, second = sorted(chance.sample(world.lines_before(order)[-20:], 2), key=lambda line: line["at"])
            if may_be_needed(first):
                # 64: the first operation may already wait for the second one, through a group.
                world.add(storm, Command(at, ["depend", place(second), "--after", place(first)], allowed=(*REFUSALS, 64)))
                if chance.random() < 0.5:
                    add(world, storm, at + 2, "depend", place(second), "--not-after", place(first))


@of_worlds
def quiet_workers(world, chance):
    for storm in range(STORMS):
        worker, at = chance.choice(world.workers).name, chance.uniform(0, STORM - 4)
        # A worker that was killed twice is in the list twice, so its name is ambiguous (64).
        for when, verb in ((at, "quiet"), (at + chance.uniform(1, 4), "resume")):
            world.add(storm, Command(when, ["workers", verb, worker], allowed=(*REFUSALS, 64)))


# Faults

def strike(world, chance, kind, count, seconds=(0, 0), latest=STORM):
    for storm in range(STORMS):
        for _ in range(count):
            world.add_fault(storm, Fault(
                chance.uniform(0.5, latest), kind, chance.randrange(len(world.workers)), chance.uniform(*seconds), chance.randrange(1 << 16)))


@of_worlds
def kills(world, chance):
    strike(world, chance, "kill", 2)


@of_worlds
def freezes(world, chance):
    strike(world, chance, "freeze", 1, seconds=(2, 6), latest=STORM - 5)


@of_worlds
def drains(world, chance):
    strike(world, chance, "drain", 1)


@of_worlds
def restarts(world, chance):
    strike(world, chance, "restart", 1)


@of_worlds
def refused_writes(world, chance):
    strike(world, chance, "refuse", 1, seconds=(1, 3))


@of_worlds
def cut_links(world, chance):
    strike(world, chance, "cut", 2)


@of_worlds
def failovers(world, chance):
    world.add_fault(STORMS - 1, Fault(chance.uniform(1, STORM), "failover", number=chance.randrange(1 << 16)))


# Surroundings

@of_worlds
def cluster(world, chance):
    """The queues are on nodes of a Redis Cluster."""


@of_worlds
def users(world, chance):
    """Programs come as users with minimal permissions."""


ALL = [*OF_LINES, *OF_WORLDS]
