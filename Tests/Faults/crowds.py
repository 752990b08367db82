"""Scenarios with many operations, with all threads taken, and with a supervisor."""
import os
import pathlib
import signal
import time

from cluster import FIXTURE, LEASE, RECOVERY
from waits import until
from registry import Supervised, no_worker_died, redelivered, running, scenario, while_holding
from wire import Claims


@scenario("threads", "every thread of the pool computes without yielding for ten leases: nothing is reclaimed")
def threads(cluster):
    lease, count = 1.5, os.cpu_count()
    # A worker without a free thread cannot claim. The second worker starts after all claims, only as a candidate for a
    # takeover.
    busy = cluster.worker(count, "--lease", "1500ms", program=FIXTURE)
    cluster.enqueue(count, name="test.spin", args={"seconds": 10 * lease, "ledger": str(cluster.ledger.path)})
    running(cluster, count)
    cluster.worker(count, "--lease", "1500ms", program=FIXTURE)
    while_holding(cluster, lambda: cluster.ended() == count, "the computing ends", 120, lease)
    assert busy.poll() is None
    assert len(cluster.ledger.starts()) == count, f"{len(cluster.ledger.starts())} starts of {count} operations"


@scenario("stuck", "an operation computes for ever: dead at its limit and the grace, its process is replaced, the others run", may_return=True)
def stuck(cluster):
    cluster.worker(2, "--processes", "2", "--cancel-grace", "200ms", "--drain-timeout", "3s", "--stuck", "replace", program=FIXTURE)
    (id,) = cluster.enqueue(1, name="test.spin", args={"seconds": 3600, "ledger": str(cluster.ledger.path)}, runTimeout="500ms")
    running(cluster, 1)
    cluster.faults += 1
    good = cluster.enqueue(60, "sleep 0.05")
    cluster.drain()
    records = cluster.records()
    assert records[id]["state"] == "dead" and records[id]["errors"][-1]["type"] == "stuck", f"{records[id]['state']}"
    assert all(records[each]["state"] == "finished" for each in good), "it took others with it"
    until(lambda: b"exit 75" in cluster.workers[0].log.read_bytes(), "the process is replaced")


@scenario("processes", "kill -9 of one of two supervised processes: what it ran runs again at once", bound=2.0)
def processes(cluster):
    supervisor = cluster.worker(4, "--processes", "2", "--lease", "10m")
    ids = cluster.enqueue(8, "sleep 60")
    running(cluster, 8)
    victim = cluster.records(ids[:1])[ids[0]]["worker"]
    lost = [id for id, record in cluster.records().items() if record["worker"] == victim]
    pid = next(child for child in _children(supervisor.pid) if victim in _arguments(child))
    killed = time.time()
    cluster.faults += 1
    os.kill(pid, signal.SIGKILL)
    times = redelivered(cluster, lost, killed)
    cluster.cancel(*ids)
    return times


def _children(pid):
    return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()] or [
        int(child) for task in pathlib.Path(f"/proc/{pid}/task").iterdir() for child in (task / "children").read_text().split()
    ]


def _arguments(pid):
    return pathlib.Path(f"/proc/{pid}/cmdline").read_text().split("\0")


@scenario("claims", "every 20th reply that hands operations out is lost with its connection", bound=2 * LEASE / 3)
def claims(cluster):
    reader = cluster.proxy.reader = Claims(every=20)
    cluster.worker(4, through_proxy=True), cluster.worker(4, through_proxy=True)
    ids, end = [], time.monotonic() + (60 if cluster.is_long else 8)
    while time.monotonic() < end:
        ids += cluster.enqueue(100, "sleep 0.02")
        until(lambda: cluster.ended() > len(ids) - 50, "most of them end")
    cluster.drain()
    reader.check()
    starts = cluster.ledger.by_id()
    assert all(len(starts[id]) == 1 for id in ids), "a lost reply made an operation run twice"
    no_worker_died(cluster)
    late = [cluster.pace.took(at, max(at, starts[id][0].time)) for at, reply in reader.lost for id in ids if id in reply]
    assert late, f"none of {len(reader.lost)} lost replies handed out anything"
    return late


@scenario("overlap", "a worker has several calls of a queue under way, and replies that hand operations out are lost with their connection",
          bound=RECOVERY)
def overlap(cluster):
    reader = cluster.proxy.reader = Claims(every=15, behind=1)
    # With a long round trip a worker has more calls in flight, and loses more of them at once.
    cluster.proxy.delay = 0.005
    for _ in range(2):
        cluster.worker(500, program=FIXTURE, through_proxy=True)
    ids = cluster.enqueue(30_000 if cluster.is_long else 4000, name="test.spin", args={"seconds": 0, "ledger": str(cluster.ledger.path)})
    cluster.drain()
    reader.check()
    no_worker_died(cluster)
    starts = cluster.ledger.by_id()
    twice = [id for id in ids if len(starts[id]) != 1]
    assert not twice, f"{len(twice)} operations ran twice, or never, after a lost reply"
    unfinished = [id for id, record in cluster.records().items() if record["state"] != "finished"]
    assert not unfinished, f"{len(unfinished)} did not finish"
    late = []
    for at, reply in reader.lost:
        if handed_out := [id for id in ids if id in reply]:
            late.append(cluster.pace.took(at, max(at, *(starts[id][0].time for id in handed_out))))
    assert late, f"none of {len(reader.lost)} lost replies handed out anything"
    return late


@scenario("many", "random kill -9 of workers and kills of Redis (fsync always): 10 and 2 of them; in the long form 200 and 20, 10,000 operations",
          redis=("--appendonly", "yes", "--appendfsync", "always"))
def many(cluster):
    operations, kills, restarts = (10_000, 200, 20) if cluster.is_long else (600, 10, 2)
    supervised = Supervised(cluster, 4)
    with supervised:
        for turn in range(restarts):
            cluster.enqueue(operations // restarts, "sleep 0.05")
            for _ in range(kills // restarts):
                time.sleep(cluster.random.uniform(0.2, 1))
                cluster.hit(supervised.any(cluster.random))
            cluster.kill_redis()
            time.sleep(cluster.random.uniform(0, 0.5))
            cluster.start_redis()
        cluster.drain(600)
    finished = sum(record["state"] == "finished" for record in cluster.records().values())
    # An operation whose worker was killed three times is dead. A few kills must not make any operation dead.
    assert finished == operations or cluster.is_long, f"{operations - finished} of {operations} did not finish"
