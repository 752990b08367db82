"""Scenarios that break workers, their connections and their Redis."""
import os
import signal
import subprocess
import threading
import time

from cluster import LEASE, RECOVERY
from waits import until
from registry import Supervised, first_start_elsewhere, no_worker_died, redelivered, running, scenario


@scenario("none", "nothing is broken")
def nothing(cluster):
    cluster.worker(), cluster.worker()
    cluster.enqueue(200)
    cluster.drain()
    no_worker_died(cluster)
    starts = cluster.ledger.starts()
    assert len(starts) == 200, f"{len(starts)} starts of 200 operations"


@scenario("kill", "kill -9 of a worker with all slots busy", bound=RECOVERY)
def kill_worker(cluster):
    victim = cluster.worker(4)
    ids = cluster.enqueue(4, "sleep 60")
    running(cluster, 4)
    cluster.worker(4), cluster.worker(4)
    until(lambda: len(cluster.leased()) == 3, "three workers beat")
    killed = time.time()
    cluster.hit(victim)
    times = redelivered(cluster, ids, killed)
    cluster.cancel(*ids)
    return times


@scenario("kill-loop", "kill -9 of a random worker every second, a new one in its place")
def kill_loop(cluster):
    workers = [cluster.worker(4) for _ in range(3)]
    cluster.enqueue(400, "sleep 0.02")
    for _ in range(8):
        time.sleep(1)
        index = cluster.random.randrange(3)
        cluster.hit(workers[index])
        workers[index] = cluster.worker(4)
    cluster.drain()


@scenario("after-effect", "the worker dies between an operation's effect and its completion")
def after_effect(cluster):
    victim = cluster.worker(1)
    (id,) = cluster.enqueue(1, f'[ "$SLUICE_DELIVERY" = 1 ] && {{ say effect; kill -9 {victim.pid}; sleep 5; }}')
    until(lambda: victim.poll() is not None, "the worker is dead")
    cluster.worker(1)
    cluster.drain()
    record = cluster.records()[id]
    assert (record["attempt"], record["delivery"]) == (1, 2), f"attempt {record['attempt']}, delivery {record['delivery']}"
    assert len(cluster.ledger.by_id()[id]) == 2, "exactly one extra run"


@scenario("stop", "SIGSTOP of a worker for three leases, then SIGCONT", bound=RECOVERY)
def stop_worker(cluster):
    victim = cluster.worker(2)
    ids = cluster.enqueue(2, f"[ $SLUICE_DELIVERY = 1 ] && sleep {4 * LEASE}")
    running(cluster, 2)
    cluster.worker(2)
    until(lambda: len(cluster.leased()) == 2, "both workers beat")
    stopped = time.time()
    cluster.hit(victim, signal.SIGSTOP)
    times = redelivered(cluster, ids, stopped)
    time.sleep(max(0, stopped + 3 * LEASE - time.time()))
    victim.send_signal(signal.SIGCONT)
    cluster.drain()
    until(lambda: b"no longer owns" in victim.log.read_bytes(), "the worker that came back says that it lost them")
    for record in cluster.records().values():
        assert record["delivery"] == 2 and record["fence"] > 2, f"stored by the wrong run: {record['fence']}"
    return times


@scenario("late", "a completion travels longer than the lease, and arrives while another worker runs the operation", bound=RECOVERY)
def late(cluster):
    cluster.worker(1, through_proxy=True)
    (id,) = cluster.enqueue(1, "[ $SLUICE_DELIVERY = 1 ] && sleep 1 || sleep 10")
    running(cluster, 1)
    cluster.proxy.mode = "blackhole"
    held = time.time()
    cluster.worker(1)
    times = redelivered(cluster, [id], held)
    cluster.proxy.mode = "pass"
    until(lambda: len(cluster.leased()) == 2, "both workers beat")
    record = cluster.records()[id]
    assert record["state"] == "executing", f"the late completion made it {record['state']}"
    cluster.drain()
    record = cluster.records()[id]
    assert (record["delivery"], record["fence"]) == (2, 2), f"stored by delivery {record['delivery']}, fence {record['fence']}"
    return times


@scenario("burn", "all slots and a niced burner compute for three leases (ten in the long form): no worker is taken for dead")
def burn(cluster):
    cluster.worker(4), cluster.worker(4)
    burners = [subprocess.Popen(["nice", "-n", "-5", "bash", "-c", "while :; do :; done"], stderr=subprocess.DEVNULL) for _ in range(2)]
    try:
        leases = 10 if cluster.is_long else 3
        cluster.enqueue(8, f"end=$((SECONDS + {leases * LEASE:.0f})); while [ $SECONDS -lt $end ]; do :; done")
        cluster.drain()
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()
    no_worker_died(cluster)
    assert len(cluster.ledger.starts()) == 8


@scenario("blackhole", "every packet between workers and Redis vanishes for three leases (a minute in the long form)", bound=5.0)
def blackhole(cluster):
    workers = [cluster.worker(4, through_proxy=True) for _ in range(2)]
    ids = cluster.enqueue(200, "sleep 0.05")
    running(cluster, 10)
    cluster.proxy.mode = "blackhole"
    time.sleep(60 if cluster.is_long else 3 * LEASE)
    before = len(cluster.ledger.starts())
    # The first ones may all have run before the packets vanished.
    ids += cluster.enqueue(8, "sleep 0.05")
    cluster.proxy.mode = "pass"
    healed = time.time()
    until(lambda: len(cluster.ledger.starts()) > before, "work goes on")
    resumed = cluster.pace.took(healed, time.time())
    cluster.drain()
    assert all(worker.poll() is None for worker in workers), "a worker ended"
    no_worker_died(cluster)
    assert len(cluster.ledger.starts()) == len(ids), f"{len(cluster.ledger.starts())} starts of {len(ids)} operations"
    return [resumed]


@scenario("reset", "every connection is reset each second, fifteen times")
def reset(cluster):
    worker = cluster.worker(4, through_proxy=True)
    cluster.enqueue(400, "sleep 0.03")
    running(cluster, 1)
    before = _descriptors(worker)
    for _ in range(15):
        time.sleep(1)
        cluster.proxy.reset_all()
    cluster.drain()
    until(lambda: _descriptors(worker) <= before + 2, f"no descriptor is left open (had {before})")


@scenario("swallow", "the replies of claims and completions vanish, again and again")
def swallow(cluster):
    cluster.worker(4, through_proxy=True)
    cluster.enqueue(600, "sleep 0.02")
    running(cluster, 1)
    for _ in range(6):
        time.sleep(0.7)
        cluster.proxy.mode = "swallow"
        time.sleep(0.3)
        cluster.proxy.reset_all()
        cluster.proxy.mode = "pass"
    cluster.drain()
    starts = cluster.ledger.by_id()
    assert all(len(lines) == 1 for lines in starts.values()), "a lost reply made an operation run twice"


@scenario("cut", "connections break in the middle of replies")
def cut(cluster):
    cluster.worker(4, through_proxy=True)
    cluster.enqueue(200, "sleep 0.02")
    for _ in range(8):
        cluster.proxy.cut_after = cluster.random.randrange(200, 6000)
        time.sleep(0.5)
        cluster.proxy.reset_all()
    cluster.proxy.cut_after = None
    cluster.proxy.reset_all()
    cluster.drain()


@scenario("slow", "20 ms more on every reply and request")
def slow(cluster):
    cluster.proxy.delay = 0.02
    cluster.worker(4, through_proxy=True), cluster.worker(4, through_proxy=True)
    cluster.enqueue(100)
    cluster.drain()
    assert len(cluster.ledger.starts()) == 100


@scenario("redis-kill", "kill -9 of Redis and a restart, append-only file with fsync always", redis=("--appendonly", "yes", "--appendfsync", "always"))
def redis_kill(cluster):
    cluster.worker(4), cluster.worker(4)
    cluster.enqueue(300, "sleep 0.05")
    for _ in range(3):
        running(cluster, min(300, len(cluster.ledger.starts()) + 5))
        cluster.kill_redis()
        time.sleep(0.5)
        cluster.start_redis()
    cluster.drain()


@scenario("redis-late", "Redis is not there when a worker starts; the command line says so and ends")
def redis_late(cluster):
    cluster.kill_redis()
    worker = cluster.worker(2)
    begin = time.time()
    done = cluster.run("enqueue", "noop", check=False, connect_timeout="2s")
    assert done.returncode == 69, f"exit {done.returncode}: {done.stderr}"
    assert cluster.within(5, since=begin), "longer than the connect time-out"
    assert worker.poll() is None, "the worker gave up"
    cluster.start_redis()
    cluster.enqueue(20)
    cluster.drain()


@scenario("readonly", "Redis becomes a replica (READONLY) for two leases")
def readonly(cluster):
    cluster.worker(4)
    cluster.enqueue(300, "sleep 0.03")
    running(cluster, 5)
    cluster.command("REPLICAOF", "127.0.0.1", "1")
    time.sleep(2 * LEASE)
    cluster.command("REPLICAOF", "NO", "ONE")
    cluster.drain()
    records = cluster.records()
    assert all(not record["errors"] for record in records.values()), "an operation was charged with a server's error"


@scenario("full", "maxmemory is reached: enqueue is refused, what is there drains and can be cancelled")
def full(cluster):
    cluster.enqueue(200, "sleep 0.02")
    (waiting,) = cluster.enqueue(1, "sleep 600")
    used = int(cluster.command("INFO", "memory").split("used_memory:")[1].split()[0])
    cluster.command("CONFIG", "SET", "maxmemory", used - 1000)
    refused = cluster.run("enqueue", "noop", check=False)
    assert refused.returncode not in (0, 69), f"exit {refused.returncode}: {refused.stderr}"
    # The worker starts only now: neither the name of its queue nor anything else may need memory.
    worker = cluster.worker(4)
    cluster.cancel(waiting)
    cluster.drain()
    assert worker.poll() is None


@scenario("pubsub", "subscriptions are cut a hundred times while operations are cancelled", bound=LEASE / 3 + 2)
def pubsub(cluster):
    cluster.worker(20)
    ids = cluster.enqueue(20, "sleep 60")
    running(cluster, 20)
    cuts = threading.Event()

    def cut_on():
        for _ in range(100):
            cluster.command("CLIENT", "KILL", "TYPE", "pubsub")
            if cuts.wait(0.05):
                return

    cutter = threading.Thread(target=cut_on)
    cutter.start()
    begin = time.time()
    cluster.cancel(*ids)
    took = cluster.pace.took(begin, time.time())
    cuts.set()
    cutter.join()
    return [took]


@scenario("cancel", "cancels race with starts: what was cancelled while it waited never starts")
def cancel_race(cluster):
    cluster.worker(4), cluster.worker(4)
    ids = cluster.enqueue(300, "sleep 0.02")
    victims = cluster.random.sample(ids, 100)
    for start in range(0, 100, 10):
        cluster.cancel(*victims[start : start + 10], check=False)
    cluster.drain()
    records, starts = cluster.records(), cluster.ledger.by_id()
    for id in victims:
        record = records[id]
        assert record["state"] in ("cancelled", "finished"), f"{id} is {record['state']}"
        if record["state"] == "cancelled" and record["startedAt"] is None:
            assert id not in starts, f"{id} was cancelled while it waited, and started"
    for id in set(ids) - set(victims):
        assert records[id]["state"] == "finished", f"{id} was not named and is {records[id]['state']}"


@scenario("schedule", "a schedule each second; workers are killed and stopped, one stays alive, their clocks jump: each instant is enqueued once", clock=True)
def schedule(cluster):
    clocks = [cluster.folder / f"clock-{number}" for number in range(5)]
    for clock in clocks:
        clock.write_bytes(bytes(8))

    def worker(number):
        return cluster.worker(1, prefix=("env", f"LD_PRELOAD={cluster.clock_library}", f"SLUICE_CLOCK={clocks[number]}"))

    workers = [worker(number) for number in range(5)]
    until(lambda: len(cluster.leased()) == 5, "five workers beat")
    cluster.run("schedule", "add", "tick", "noop", "-t", "tick", "--every", "1s")
    seconds = 60 if cluster.is_long else 30
    for _ in range(seconds):
        time.sleep(1)
        cluster.set_clock(cluster.random.randrange(-5000, 5000), clocks[cluster.random.randrange(5)])
        spared = cluster.random.randrange(5)
        victim = (spared + cluster.random.randrange(1, 5)) % 5
        cluster.hit(workers[victim], cluster.random.choice([signal.SIGKILL, signal.SIGSTOP]))
        workers[victim] = worker(victim)

    def ticks():
        return cluster.run("list", "tag:tick", "--limit", "1000", "-o", "id").stdout.split()

    until(lambda: len(ticks()) >= seconds - 2 * LEASE, "the instants are enqueued", 300)
    cluster.run("schedule", "pause", "tick")
    times = sorted(time_of(id) for id in ticks())
    expected = list(range(times[0], times[-1] + 1, 1000))
    assert times == expected, f"enqueued {times}, expected {expected}"


def time_of(id):
    """Returns the first 48 bits of an id: milliseconds."""
    value = 0
    for letter in id[:10]:
        value = value * 32 + "0123456789ABCDEFGHJKMNPQRSTVWXYZ".index(letter)
    return value


@scenario("stubborn", "an operation ignores its cancel and the worker is told to go")
def stubborn(cluster):
    worker = cluster.worker(1, "--cancel-grace", "1s", "--drain-timeout", "1s")
    (id,) = cluster.enqueue(1, "trap '' TERM; sleep 30 & wait; sleep 30")
    running(cluster, 1)
    cluster.run("cancel", id, check=False)
    cluster.hit(worker, signal.SIGTERM)
    until(lambda: worker.poll() is not None, "the worker ends")
    cluster.drain()
    assert cluster.records()[id]["state"] == "cancelled"


@scenario("poison", "an operation kills each worker that takes it, among a hundred good ones")
def poison(cluster):
    supervised = Supervised(cluster, 2)
    with supervised:
        # The guard's parent is the worker.
        (id,) = cluster.enqueue(1, "kill -9 $(ps -o ppid= -p $PPID); sleep 5")
        good = cluster.enqueue(100, "sleep 0.01")
        cluster.drain()
    records = cluster.records()
    assert records[id]["state"] == "dead" and records[id]["delivery"] == 3, f"{records[id]['state']}, {records[id]['delivery']}"
    others = [records[each] for each in good if records[each]["state"] != "finished"]
    assert not others, f"{len(others)} good ones died with it: {others[0]['state']}, delivery {others[0]['delivery']}"


@scenario("rolling", "every worker is replaced five times over (SIGTERM, drain): no extra run at all")
def rolling(cluster):
    workers = [cluster.worker(4) for _ in range(2)]
    cluster.enqueue(300, "sleep 0.05")
    for _ in range(5):
        for index in range(2):
            until(lambda: len(cluster.leased()) == 2, "both workers beat")
            cluster.hit(workers[index], signal.SIGTERM)
            code = workers[index].wait(timeout=90)
            assert code == 0, f"a drained worker ended with {code}"
            workers[index] = cluster.worker(4)
    cluster.drain()
    no_worker_died(cluster)
    assert len(cluster.ledger.starts()) == 300, f"{len(cluster.ledger.starts())} starts"


@scenario("hurried", "two signals: what runs is given back at once and runs elsewhere, no attempt is used", may_return=True)
def hurried(cluster):
    victim = cluster.worker(4)
    ids = cluster.enqueue(4, "sleep 2")
    running(cluster, 4)
    other = cluster.worker(4)
    cluster.hit(victim, signal.SIGTERM)
    until(lambda: b"drain" in victim.log.read_bytes().lower() or victim.poll() is not None, "the first signal is heard")
    cluster.hit(victim, signal.SIGTERM)
    until(lambda: victim.poll() is not None, "the worker ends")
    cluster.drain()
    for record in cluster.records().values():
        assert (record["attempt"], record["delivery"]) == (1, 1), f"{record['attempt']}/{record['delivery']}"


@scenario("scripts", "SCRIPT FLUSH in a loop: no error reaches an operation")
def scripts(cluster):
    cluster.worker(4)
    cluster.enqueue(200, "sleep 0.02")
    while cluster.ended() < 150:
        cluster.command("SCRIPT", "FLUSH")
        time.sleep(0.02)
    cluster.drain()
    assert len(cluster.ledger.starts()) == 200


@scenario("storm", "a random schedule: kills, stops, resets, swallowed replies, black holes")
def storm(cluster):
    supervised = Supervised(cluster, 3, through_proxy=True)
    chance = cluster.random
    with supervised:
        cluster.enqueue(int(15 * cluster.storm_seconds), "sleep 0.1")
        end = time.monotonic() + cluster.storm_seconds
        while time.monotonic() < end:
            time.sleep(chance.uniform(0.3, 2))
            what = chance.choice(["kill", "stop", "reset", "swallow", "blackhole", "flush", "pubsub"])
            if what == "kill":
                cluster.hit(supervised.any(chance))
            elif what == "stop":
                worker, pause = supervised.any(chance), chance.uniform(0.2, 2 * LEASE)
                cluster.hit(worker, signal.SIGSTOP)
                threading.Timer(pause, lambda worker=worker: worker.poll() is None and worker.send_signal(signal.SIGCONT)).start()
            elif what == "reset":
                cluster.proxy.reset_all()
            elif what == "flush":
                cluster.command("SCRIPT", "FLUSH")
            elif what == "pubsub":
                cluster.command("CLIENT", "KILL", "TYPE", "pubsub")
            else:
                cluster.proxy.mode = what
                time.sleep(chance.uniform(0.1, 1.5 * LEASE))
                if what == "swallow":
                    cluster.proxy.reset_all()
                cluster.proxy.mode = "pass"
        time.sleep(2 * LEASE)
        cluster.drain()


def _descriptors(process):
    return len(os.listdir(f"/proc/{process.pid}/fd"))
