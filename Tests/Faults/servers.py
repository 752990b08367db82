"""Scenarios with a second Redis, with another clock, and with settings under which Redis loses data."""
import time

from cluster import LEASE, RECOVERY
from waits import until
from registry import no_worker_died, redelivered, running, scenario, while_holding


@scenario("durability", "enqueue --durability wait:1 while the replica is cut off: stored, said to be unconfirmed, and run")
def durability(cluster):
    cluster.start_replica()
    cluster.worker(2)
    one = cluster.run("enqueue", "noop", "--durability", "wait:1")
    assert "not yet confirmed" not in one.stderr, one.stderr
    cluster.replica_link.mode = "blackhole"
    cluster.faults += 1
    begin = time.time()
    two = cluster.run("enqueue", "noop", "--durability", "wait:1")
    assert "not yet confirmed" in two.stderr, f"said: {two.stderr}"
    assert cluster.within(9, since=begin), "it waited for longer than it says"
    until(lambda: cluster.total("finished") == 2, "both ran")
    cluster.replica_link.mode = "pass"
    until(cluster.is_replicated, "the replica follows again")


@scenario("failover", "the master becomes a replica of its replica while operations run: nothing is missing", bound=5.0)
def failover(cluster):
    cluster.start_replica()
    workers = [cluster.worker(4, through_proxy=True) for _ in range(2)]
    ids = cluster.enqueue(200, "sleep 0.05")
    running(cluster, 20)
    old = cluster.socket
    cluster.step_down()
    # For a while all workers talk to the old master, which is read-only now.
    time.sleep(LEASE / 2)
    changed, before = time.time(), len(cluster.ledger.starts())
    cluster.fail_over()
    # The first ones may all have run before the change.
    ids += cluster.enqueue(8, "sleep 0.05")
    until(lambda: len(cluster.ledger.starts()) > before, "work goes on")
    resumed = cluster.pace.took(changed, time.time())
    assert cluster.socket != old
    cluster.drain()
    assert all(worker.poll() is None for worker in workers), "a worker ended"
    assert all(not record["errors"] for record in cluster.records().values()), "an operation was charged with a server's error"
    no_worker_died(cluster)
    assert len(cluster.ledger.starts()) == len(ids), f"{len(cluster.ledger.starts())} starts of {len(ids)} operations"
    return [resumed]


@scenario("late-replica", "the master dies, and its successor lacks the last second: what it has ends, nothing contradicts itself", loses=True)
def late_replica(cluster):
    cluster.start_replica()
    workers = [cluster.worker(4, through_proxy=True) for _ in range(2)]
    ids = cluster.enqueue(150, "sleep 0.05")
    running(cluster, 20)
    until(cluster.is_replicated, "the replica has everything")
    cluster.replica_link.mode = "blackhole"
    missing = cluster.enqueue(20, "sleep 0.05")
    time.sleep(1)
    cluster.kill_redis()
    cluster.fail_over()

    def finished():
        return sum(record["state"] == "finished" for record in cluster.records(ids).values())

    until(lambda: finished() == len(ids), "what the replica had ends")
    assert all(worker.poll() is None for worker in workers), "a worker ended"
    assert not cluster.records(missing), "the replica was not late: this proves nothing"
    counts = {name: cluster.total(name) for name in ("finished", "dead", "cancelled", "expired", "recovered")}
    assert all(count >= 0 for count in counts.values()), f"negative: {counts}"


@scenario("evict", "Redis may throw operations away: a worker does not start, and warns if that comes later")
def evict(cluster):
    cluster.command("CONFIG", "SET", "maxmemory", "200mb")
    cluster.command("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
    refused = cluster.worker(1)
    assert refused.wait(timeout=300) == 78, f"exit {refused.returncode}: {refused.log.read_text()[-300:]}"
    cluster.command("CONFIG", "SET", "maxmemory-policy", "noeviction")
    worker = cluster.worker(2, "--watch-interval", "300ms")
    cluster.enqueue(20)
    running(cluster, 1)
    cluster.command("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
    until(lambda: b"allkeys-lru" in worker.log.read_bytes(), "it warns")
    cluster.command("CONFIG", "SET", "maxmemory-policy", "noeviction")
    cluster.drain()
    assert worker.poll() is None


@scenario("clock", "the clock of Redis jumps ten minutes on and back again: no worker is taken for dead; a death after it is noticed in time",
          bound=RECOVERY, clock=True)
def clock(cluster):
    victim = cluster.worker(4)
    cluster.worker(4)
    until(lambda: len(cluster.leased()) == 2, "both workers beat")
    ids = cluster.enqueue(8, f"sleep {3 * LEASE}")
    running(cluster, 8)
    for offset in (600, 0):
        cluster.set_clock(offset)
        shown = int(cluster.command("TIME")[0]) - time.time()
        assert abs(shown - offset) < 5, f"the clock of Redis is {shown:.0f} s ahead, not {offset} s: this proves nothing"
        begin = time.monotonic()
        while_holding(cluster, lambda: time.monotonic() - begin > LEASE * 1.2, "a lease passes", 30)
    while_holding(cluster, lambda: cluster.ended() == len(ids), "all end", 90)
    assert len(cluster.ledger.starts()) == len(ids), "something ran twice"
    more = cluster.enqueue(8, "sleep 60")
    running(cluster, 16)
    cluster.worker(4)
    until(lambda: len(cluster.leased()) == 3, "the third beats")
    killed = time.time()
    cluster.hit(victim)
    until(lambda: cluster.total("recovered") == 4, "what it ran is recovered")
    until(lambda: len(_again(cluster)) == 4, "it runs again")
    times = redelivered(cluster, [line.id for line in _again(cluster)], killed)
    cluster.cancel(*more)
    return times


def _again(cluster):
    return [line for line in cluster.ledger.starts() if line.delivery == 2]
