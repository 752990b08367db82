"""Makes a world from its seed."""
import random

from features import ALL, OF_LINES, OF_WORLDS
from world import CALM, STORM, STORMS, Command, Worker, World

# Each pair of features must be in at least 20 of 100 seeds. With this share a pair is in about 42.
SHARE = 0.65
OPERATIONS = 240
BATCH = 8


def chosen(seed):
    """Returns the features of a seed."""
    chance = random.Random(f"features {seed}")
    return [feature for feature in ALL if chance.random() < SHARE]


def make(seed, features=None, operations=OPERATIONS):
    world = World(seed, chosen(seed) if features is None else features, operations)
    _workers(world)
    _operations(world)
    for feature, apply in OF_WORLDS.items():
        if world.has(feature):
            apply(world, world.chance(feature))
    for queue, limits in world.limits.items():
        if limits:
            words = [f"{name}={value}" for name, value in limits.items()]
            world.setup.insert(0, Command(0, ["queue", "limit", queue, *words, "--quiet"]))
    for line in world.lines:
        # Operations with one of these fields are always tracked.
        if {"in", "limitKey", "unique", "after", "group"} & line.keys():
            line.pop("track", None)
    for storm in range(STORMS):
        _batches(world, storm)
    return world.sort()


def _workers(world):
    """Makes the workers: at least three for each queue, and two for each name of a handler."""
    chance = world.chance("workers")
    for number in range(4):
        some = world.queues if number < 3 else chance.sample(world.queues, chance.randint(1, len(world.queues)))
        handlers = {0: ["greet", "count"], 1: ["greet"], 2: ["count"], 3: []}[number] if world.has("names") else []
        world.workers.append(Worker(f"w{number}", chance.randint(2, 4), ",".join(some), [f"--handler={name}" for name in handlers]))


def _operations(world):
    for number in range(world.operations):
        chance = world.chance("operation", number)
        storm = number * STORMS // world.operations
        # A quarter of a storm's operations are enqueued in the calm after it (see _batches).
        line = {
            "at": number * STORM * STORMS / world.operations, "storm": storm, "text": f"o{number}", "id": f"o{number}", "name": "exec", "args": {},
            "body": f"sleep {chance.uniform(0.02, 0.3):.2f}", "queue": chance.choice(world.queues), "tags": [f"t{chance.randrange(6)}"],
            "needs": [],
        }
        world.lines.append(line)
        for feature, (share, apply) in OF_LINES.items():
            own = world.chance(feature, number)
            if world.has(feature) and own.random() < share:
                apply(world, line, own)


def _batches(world, storm):
    lines = [line for line in world.lines if line["storm"] == storm]
    late = len(lines) - len(lines) // 4
    for first in range(0, late, BATCH):
        at = STORM * first / max(1, late)
        world.add(storm, Command(at, ["enqueue", "--batch", "-"], lines[first : min(first + BATCH, late)]))
    for first in range(late, len(lines), BATCH):
        at = CALM * (first - late) / max(1, len(lines) - late)
        world.calms[storm].append(Command(at, ["enqueue", "--batch", "-"], lines[first : first + BATCH]))
