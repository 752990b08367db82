"""What all scenarios are made of: their list, and what they wait for. Each gets a cluster of its own and returns times of recovery in
seconds.

A scenario raises, or leaves operations that the ledger and the records do not explain, if something does not hold.
"""
import threading

from cluster import until

SCENARIOS = {}


class Skipped(Exception):
    """Something that a scenario needs is not installed."""


def scenario(code, what, bound=None, redis=(), may_return=False, loses=False, clock=False):
    """bound: of recovery, in seconds; may_return: operations are given back, so that a delivery may start again under another fence;
    loses: Redis itself forgets what it acknowledged; clock: Redis reads its time from a file."""

    def register(function):
        function.code, function.what, function.bound, function.redis = code, what, bound, redis
        function.may_return, function.loses, function.clock = may_return, loses, clock
        SCENARIOS[code] = function
        return function

    return register


def running(cluster, count):
    until(lambda: len(cluster.ledger.starts()) >= count, f"{count} operations start")


def first_start_elsewhere(cluster, ids, delivery=2):
    """The instant at which each of the operations started again."""
    def again():
        return {line.id for line in cluster.ledger.starts() if line.delivery >= delivery and line.id in ids}

    until(lambda: again() >= set(ids), f"{len(ids)} operations start again", 60)
    return {line.id: line.time for line in cluster.ledger.starts() if line.delivery >= delivery}


def while_holding(cluster, condition, what, seconds):
    """Waits as long for the condition, and fails at once if a live worker is taken for dead."""
    def either():
        assert cluster.total("recovered") == 0, "a live worker was taken for dead"
        return condition()

    until(either, what, seconds)


class Supervised:
    """Workers that are started anew when they die."""

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
