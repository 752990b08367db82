"""A world: queues, workers, operations, changes by people, and faults, all from a seed and a set of features.

Each feature uses separate random numbers, so removing a feature leaves the rest of the world unchanged. Therefore a
failing world can be made smaller: see shrink.py.
"""
import dataclasses
import random

STORMS = 2
# The duration of a storm, over which its commands and faults are spread, in seconds
STORM = 11.0
CALM = 8.0


@dataclasses.dataclass
class Command:
    """A call of the command line. `lines` are those of a batch; `allowed` are other exit codes that are no finding."""

    at: float
    words: list
    lines: list = None
    allowed: tuple = ()


@dataclasses.dataclass
class Fault:
    at: float
    kind: str
    worker: int = 0
    seconds: float = 0.0
    number: int = 0


@dataclasses.dataclass
class Worker:
    name: str
    slots: int
    queues: str
    options: list


class World:
    def __init__(self, seed, features, operations):
        self.seed, self.features, self.operations = seed, features, operations
        self.queues = [f"q{letter}" for letter in "abcde"[: self.chance("queues").randint(2, 5)]]
        self.limits = {queue: {} for queue in self.queues}
        self.workers = []
        self.setup = []
        self.storms = [([], []) for _ in range(STORMS)]
        self.calms = [[] for _ in range(STORMS)]
        self.lines = []
        self.groups = {}

    def chance(self, *names):
        return random.Random(" ".join(map(str, (self.seed, *names))))

    def has(self, feature):
        return feature in self.features

    def lines_before(self, at):
        """Returns the operations that are enqueued before a time of a storm, in order."""
        return [line for line in self.lines if line["at"] < at]

    def add(self, storm, command):
        self.storms[storm][0].append(command)

    def add_fault(self, storm, fault):
        self.storms[storm][1].append(fault)

    def sort(self):
        for commands, faults in self.storms:
            commands.sort(key=lambda each: each.at)
            faults.sort(key=lambda each: each.at)
        return self


def moment(storm, chance, first=0.0):
    """Returns a time of a storm, and the time since the start of the first storm, which orders all of them."""
    at = chance.uniform(first, STORM)
    return at, storm * STORM + at


def sent(line):
    """Returns a line as `enqueue --batch` accepts it."""
    return {name: value for name, value in line.items() if name not in ("at", "storm", "body", "needs", "text")}
