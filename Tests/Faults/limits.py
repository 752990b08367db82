"""Limits under broken workers: no more operations run with valid fences than a limit allows."""
import signal
import time

from cluster import LEASE
from registry import scenario


def overlaps(cluster, ids, limit):
    """Asserts that no more than `limit` of the runs that counted ran at once: of each operation the last delivery, which ended."""
    ends = cluster.ledger.by_id("end")
    times = []
    for id, starts in cluster.ledger.by_id().items():
        if id not in ids or id not in ends:
            continue
        fence = max(line.fence for line in starts)
        start = [line.time for line in starts if line.fence == fence]
        end = [line.time for line in ends[id] if line.fence == fence]
        if start and end:
            times += [(start[0], 1), (end[0], -1)]
    at_once = most = 0
    # What ends goes before what starts at the same instant.
    for _, step in sorted(times, key=lambda each: (each[0], each[1])):
        at_once += step
        most = max(most, at_once)
    assert most <= limit, f"{most} ran at once with valid fences, {limit} may"
    assert most > 0, "nothing ran"


def break_workers(cluster, workers):
    """Kills workers, and stops one for longer than its lease."""
    for number in range(4):
        time.sleep(1)
        index = cluster.random.randrange(len(workers))
        if number == 2:
            cluster.hit(workers[index], signal.SIGSTOP)
            time.sleep(LEASE + 2)
            workers[index].send_signal(signal.SIGCONT)
        else:
            cluster.hit(workers[index])
            workers[index] = cluster.worker(4)


@scenario("serial", "workers of a serial queue are killed and stopped: never more than one runs with a valid fence")
def serial(cluster):
    cluster.run("queue", "limit", "default", "concurrency=1", "--quiet")
    workers = [cluster.worker(4) for _ in range(4)]
    ids = cluster.enqueue(200, "sleep 0.05")
    break_workers(cluster, workers)
    cluster.drain(120)
    overlaps(cluster, ids, 1)


@scenario("limit-keys", "workers are killed and stopped: of each limit key never more run with valid fences than may")
def limit_keys(cluster):
    cluster.run("queue", "limit", "default", "key.concurrency=2", "--quiet")
    workers = [cluster.worker(4) for _ in range(4)]
    keys = {key: cluster.enqueue(300, "sleep 0.05", key=key) for key in ("acme", "bolt")}
    break_workers(cluster, workers)
    cluster.drain(120)
    for ids in keys.values():
        overlaps(cluster, ids, 2)


@scenario("key-rate", "workers are killed and stopped: of each limit key never more start in a time than its rate and burst allow")
def key_rate(cluster):
    rate, burst, slots = 20, 5, 4
    cluster.run("queue", "limit", "default", f"key.rate={rate}/s", f"key.burst={burst}", "--quiet")
    workers = [cluster.worker(slots) for _ in range(4)]
    keys = {key: cluster.enqueue(300, "sleep 0.05", key=key) for key in ("acme", "bolt")}
    break_workers(cluster, workers)
    cluster.drain(120)
    by_id = cluster.ledger.by_id()
    for ids in keys.values():
        times = sorted(line.time for id in ids for line in by_id.get(id, []))
        assert len(times) >= len(ids), "not all have started"
        # What a worker that is stopped has claimed begins later: at most what its slots hold.
        most = max(number + 1 - rate * (time - times[first]) for first in range(len(times)) for number, time in enumerate(times[first:]))
        assert most <= burst + len(workers) * slots + 1, f"{most:.0f} more started than the rate allows"


@scenario("unique-keys", "workers are killed and stopped: of each unique key never two run with valid fences")
def unique_keys(cluster):
    workers = [cluster.worker(4) for _ in range(4)]
    keys = {key: cluster.enqueue(100, "sleep 0.05", unique=key, ifExists="enqueue") for key in ("acme", "bolt", "cold")}
    break_workers(cluster, workers)
    cluster.drain(120)
    for ids in keys.values():
        overlaps(cluster, ids, 1)


@scenario("dependencies", "workers are killed and stopped while 300 run that wait for one: the last one runs behind all of them")
def dependencies(cluster):
    workers = [cluster.worker(4) for _ in range(4)]
    first = cluster.enqueue(1, "sleep 1")
    middle = cluster.enqueue(300, "sleep 0.05", after=first)
    last = cluster.enqueue(1, after=middle)
    break_workers(cluster, workers)
    cluster.drain(120)
    ends = cluster.ledger.by_id("end")
    begun = max(line.time for line in cluster.ledger.by_id()[last[0]])
    late = [id for id in first + middle if min(line.time for line in ends[id]) > begun]
    assert not late, f"{len(late)} had not ended when the one that waits for them began"
    waited = [id for id in middle if min(line.time for line in cluster.ledger.by_id()[id]) < min(line.time for line in ends[first[0]])]
    assert not waited, f"{len(waited)} began before the one that they wait for had ended"
