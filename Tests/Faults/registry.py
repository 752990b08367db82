"""The list of scenarios, and the waits that they share.

Each scenario gets a separate cluster and returns times of recovery in seconds. A scenario fails if it raises, or if it
leaves operations that the ledger and the records do not explain.
"""
import datetime
import threading

from cluster import LEASE, Cluster
from waits import until

SCENARIOS = {}


class Skipped(Exception):
    """A program that a scenario needs is not installed."""


class TooSlow(Exception):
    """The machine was too slow, so the run proves nothing and is repeated."""


class Unproven(TooSlow):
    """The fault hit nothing, so the run proves nothing and is repeated."""


def scenario(code, what, bound=None, redis=(), may_return=False, loses=False, clock=False, place=Cluster):
    """Registers a scenario.

    - bound: the limit of a recovery in seconds
    - may_return: operations are given back, so a delivery may start again under another fence
    - loses: Redis forgets what it acknowledged
    - clock: Redis reads its time from a file
    - place: the servers
    """

    def register(function):
        function.code, function.what, function.bound, function.redis = code, what, bound, redis
        function.may_return, function.loses, function.clock, function.place = may_return, loses, clock, place
        SCENARIOS[code] = function
        return function

    return register


def running(cluster, count):
    until(lambda: len(cluster.ledger.starts()) >= count, f"{count} operations start")


def first_start_elsewhere(cluster, ids, delivery=2):
    """Waits until the operations have started again, and returns the times by id."""
    def again():
        return {line.id for line in cluster.ledger.starts() if line.delivery >= delivery and line.id in ids}

    until(lambda: again() >= set(ids), f"{len(ids)} operations start again")
    return {line.id: line.time for line in cluster.ledger.starts() if line.delivery >= delivery}


def redelivered(cluster, ids, since):
    """Waits until all have started again. Returns the times from `since` to each claim, by the clock of Redis."""
    first_start_elsewhere(cluster, ids)
    records = cluster.records(ids)
    return [cluster.pace.took(since, seconds(records[id]["startedAt"])) for id in ids]


def seconds(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def while_holding(cluster, condition, what, seconds, lease=LEASE):
    """Waits for the condition, and fails at once if a live worker is taken for dead."""
    def either():
        no_worker_died(cluster, lease)
        return condition()

    until(either, what, seconds)


def no_worker_died(cluster, lease=LEASE):
    """Checks that no live worker was taken for dead, unless the machine delayed its heartbeats that long."""
    if cluster.total("recovered") == 0:
        return
    if (delay := cluster.pace.delay(0)) > lease / 2:
        raise TooSlow(f"the machine was frozen for {delay:.1f} s")
    raise AssertionError("a live worker was taken for dead")


def some_run_was_lost(cluster):
    """Raises Unproven if no run was lost: kills hit nothing while workers are slow to start."""
    if cluster.total("recovered") == 0:
        raise Unproven("no run was lost")


class Supervised:
    """Workers that are restarted when they die."""

    def __init__(self, cluster, count, through_proxy=False):
        self.cluster, self.through_proxy = cluster, through_proxy
        self.workers = [cluster.worker(4, through_proxy=through_proxy) for _ in range(count)]
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self._watch)

    def __enter__(self):
        self.thread.start()

    def __exit__(self, *_):
        self.is_over.set()
        self.thread.join()

    def any(self, chance):
        return chance.choice(self.workers)

    def _watch(self):
        while not self.is_over.wait(0.1):
            for index, worker in enumerate(self.workers):
                if worker.poll() is not None:
                    self.workers[index] = self.cluster.worker(4, through_proxy=self.through_proxy)
