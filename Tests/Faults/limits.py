"""Limits under broken workers: no more operations run with valid fences than a limit allows."""
import json
import signal
import threading
import time

from cluster import FIXTURE, LEASE
from waits import until
from registry import scenario, seconds, some_run_was_lost


def overlaps(cluster, ids, limit):
    """Asserts that at most `limit` operations ran at once. Only the run under the last fence of each one counts."""
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
    # At the same instant, an end goes before a start.
    for _, step in sorted(times, key=lambda each: (each[0], each[1])):
        at_once += step
        most = max(most, at_once)
    assert most <= limit, f"{most} ran at once with valid fences, {limit} may"
    assert most > 0, "nothing ran"


def break_workers(cluster, workers, count=4, queues=("default",), program=None):
    """Kills workers, and stops one for longer than its lease. Each queue has equally many workers, in queue order."""
    for number in range(count):
        time.sleep(1)
        index = cluster.random.randrange(len(workers))
        if number == 2:
            cluster.hit(workers[index], signal.SIGSTOP)
            time.sleep(LEASE + 2)
            workers[index].send_signal(signal.SIGCONT)
        else:
            cluster.hit(workers[index])
            workers[index] = cluster.worker(4, "-q", queues[index * len(queues) // len(workers)], program=program)


@scenario("serial", "workers of a serial queue are killed and stopped: never more than one runs with a valid fence")
def serial(cluster):
    cluster.run("queue", "limit", "default", "concurrency=1", "--quiet")
    workers = [cluster.worker(4) for _ in range(4)]
    ids = cluster.enqueue(200, "sleep 0.05")
    break_workers(cluster, workers)
    cluster.drain()
    overlaps(cluster, ids, 1)


@scenario("limit-keys", "workers are killed and stopped: of each limit key never more run with valid fences than may")
def limit_keys(cluster):
    cluster.run("queue", "limit", "default", "key.concurrency=2", "--quiet")
    workers = [cluster.worker(4) for _ in range(4)]
    keys = {key: cluster.enqueue(300, "sleep 0.05", limitKey=key) for key in ("acme", "bolt")}
    break_workers(cluster, workers)
    cluster.drain()
    for ids in keys.values():
        overlaps(cluster, ids, 2)


@scenario("key-rate", "workers are killed and stopped: of each limit key never more start in a time than its rate and burst allow")
def key_rate(cluster):
    rate, burst, slots = 20, 5, 4
    cluster.run("queue", "limit", "default", f"key.rate={rate}/s", f"key.burst={burst}", "--quiet")
    workers = [cluster.worker(slots) for _ in range(4)]
    keys = {key: cluster.enqueue(300, "sleep 0.05", limitKey=key) for key in ("acme", "bolt")}
    break_workers(cluster, workers)
    cluster.drain()
    by_id = cluster.ledger.by_id()
    for ids in keys.values():
        times = sorted(line.time for id in ids for line in by_id.get(id, []))
        assert len(times) >= len(ids), "not all have started"
        # Operations that a stopped worker has claimed start later, at most as many as its slots.
        most = max(number + 1 - rate * (time - times[first]) for first in range(len(times)) for number, time in enumerate(times[first:]))
        assert most <= burst + len(workers) * slots + 1, f"{most:.0f} more started than the rate allows"


@scenario("unique-keys", "workers are killed and stopped: of each unique key never two run with valid fences")
def unique_keys(cluster):
    workers = [cluster.worker(4) for _ in range(4)]
    keys = {key: cluster.enqueue(100, "sleep 0.05", unique=key, ifExists="enqueue") for key in ("acme", "bolt", "cold")}
    break_workers(cluster, workers)
    cluster.drain()
    for ids in keys.values():
        overlaps(cluster, ids, 1)


class Producer(threading.Thread):
    """Enqueues operations of 100 unique keys with one policy. `keys` has the key of each added operation."""

    def __init__(self, cluster, policy, body, count):
        super().__init__()
        self.cluster, self.policy, self.body, self.count = cluster, policy, body, count
        self.keys, self.failure = {}, None

    def run(self):
        try:
            for _ in range(self.count // 500):
                self.send([f"key-{self.cluster.random.randrange(100)}" for _ in range(500)])
        except Exception as failure:
            self.failure = failure

    def send(self, keys):
        line = {"name": "exec", "args": {"argv": self.cluster.ledger.argv(self.body)}, "ifExists": self.policy}
        lines = "".join(json.dumps({**line, "unique": key}) + "\n" for key in keys)
        outcomes = self.cluster.run("enqueue", "--batch", "-", "-o", "jsonl", "--quiet", input=lines).stdout.splitlines()
        for key, outcome in zip(keys, map(json.loads, outcomes), strict=True):
            if outcome["isNew"]:
                self.keys[outcome["id"]] = key


@scenario("unique-race", "two producers race 10,000 enqueues on 100 unique keys while workers are killed: never two of a key live at once")
def unique_race(cluster):
    workers = [cluster.worker(8) for _ in range(3)]
    producers = [Producer(cluster, policy, "sleep 0.05", 5000) for policy in ("join", "skip")]
    for producer in producers:
        producer.start()
    for _ in range(3):
        time.sleep(1)
        index = cluster.random.randrange(len(workers))
        cluster.hit(workers[index])
        workers[index] = cluster.worker(8)
    for producer in producers:
        producer.join()
        assert not producer.failure, producer.failure
    keys = producers[0].keys | producers[1].keys
    assert len(keys) > 100, "no key was ever free again: this proves nothing"
    cluster.ids += keys
    cluster.drain()
    lives = {}
    for id, record in cluster.records(list(keys)).items():
        lives.setdefault(keys[id], []).append((record["enqueuedAt"], record["endedAt"]))
    for key, times in lives.items():
        times.sort()
        twice = [(before, after) for before, after in zip(times, times[1:]) if after[0] < before[1]]
        assert not twice, f"{key} had two at once: {twice[0]}"
    assert cluster.command("HLEN", "{sluice/default}:unique") == 0, "a key is left behind"


@scenario("replace", "1,000 of one unique key replace each other: at most one runs at any time, and the last one's work stands")
def replace(cluster):
    for _ in range(2):
        cluster.worker(4)
    lock, overlap, last = (cluster.folder / name for name in ("lock", "overlap", "last"))

    def line(number):
        body = f"trap 'rmdir {lock}; exit 143' TERM; mkdir {lock} || touch {overlap}; sleep 0.1 & wait; echo {number} > {last}; rmdir {lock}"
        return json.dumps({"name": "exec", "args": {"argv": cluster.ledger.argv(body)}, "unique": "k", "ifExists": "replace"})

    for first in range(0, 1000, 20):
        lines = "\n".join(map(line, range(first, first + 20)))
        cluster.ids += cluster.run("enqueue", "--batch", "-", "-o", "id", "--quiet", input=lines).stdout.split()
    cluster.drain()
    assert not overlap.exists(), "two ran at once"
    assert last.read_text().strip() == "999", f"the last work is that of {last.read_text()}"


@scenario("dependencies", "workers are killed and stopped while 300 run that wait for one: the last one runs behind all of them")
def dependencies(cluster):
    workers = [cluster.worker(4) for _ in range(4)]
    first = cluster.enqueue(1, "sleep 1")
    middle = cluster.enqueue(300, "sleep 0.05", after=first)
    last = cluster.enqueue(1, after=middle)
    break_workers(cluster, workers)
    cluster.drain()
    ends = cluster.ledger.by_id("end")
    begun = max(line.time for line in cluster.ledger.by_id()[last[0]])
    late = [id for id in first + middle if min(line.time for line in ends[id]) > begun]
    assert not late, f"{len(late)} had not ended when the one that waits for them began"
    waited = [id for id in middle if min(line.time for line in cluster.ledger.by_id()[id]) < min(line.time for line in ends[first[0]])]
    assert not waited, f"{len(waited)} began before the one that they wait for had ended"


def ran_behind(cluster, ids, before):
    """Asserts that none of the operations began before all of the others had ended."""
    ends, starts = cluster.ledger.by_id("end"), cluster.ledger.by_id()
    last = max(min(line.time for line in ends[id]) for id in before)
    early = [id for id in ids if min(line.time for line in starts[id]) < last]
    assert not early, f"{len(early)} began before what they wait for had ended"


@scenario("relay", "300 wait for one of another queue, and one waits for them all there; workers of both are killed and stopped")
def relay(cluster):
    workers = [cluster.worker(4, "-q", queue) for queue in ("default", "other") for _ in range(2)]
    first = cluster.enqueue(1, "sleep 1")
    middle = cluster.enqueue(300, "sleep 0.05", queue="other", after=[f"default/{id}" for id in first])
    last = cluster.enqueue(1, after=[f"other/{id}" for id in middle])
    break_workers(cluster, workers, 6, ("default", "other"))
    cluster.drain()
    ran_behind(cluster, middle, first)
    ran_behind(cluster, last, middle)


@scenario("lost-relay", "what one queue says to another is lost: what waits there asks")
def lost_relay(cluster):
    cluster.worker(4, "-q", "default")
    first = cluster.enqueue(40, "sleep 0.5", queue="other")
    # A relay that holds its turn forever and never returns
    cluster.command("ZADD", "{sluice/other}:outboxes", "99999999999999", "default")
    waiting = [id for each in first for id in cluster.enqueue(1, after=f"other/{each}")]
    cluster.worker(4, "-q", "other")
    until(lambda: cluster.total("finished") >= len(first), "what they wait for ends")
    assert cluster.command("ZCARD", "{sluice/other}:outbox:default") > 0, "nothing is lost: this proves nothing"
    cluster.faults += 1
    cluster.command("DEL", "{sluice/other}:outbox:default", "{sluice/other}:outboxes")
    cluster.drain()
    assert cluster.total("finished") == len(first + waiting), "not all have run"


@scenario("children", "bodies enqueue others with their completion; workers are killed and stopped: those of the run that counted start, and no others")
def children(cluster):
    parents, queues = 100, ("default", "other")
    started = cluster.folder / "started"
    started.touch()
    body = f'echo "$PARENT $PARENT_FENCE $SLUICE_OPERATION_ID" >> {started}'
    for queue in queues:
        args = {"argv": ["bash", "-c", body], "count": 3, "questions": 300, "queue": queue}
        line = json.dumps({"name": "test.brood", "args": args}) + "\n"
        cluster.run("enqueue", "--batch", "-", "--quiet", input=line * (parents // 2))
    workers = [cluster.worker(4, "-q", queue, program=FIXTURE) for queue in queues for _ in range(2)]
    break_workers(cluster, workers, 6, queues, FIXTURE)
    # Each parent, the group of its run, and its children
    until(lambda: cluster.total("finished") >= 5 * parents, "all parents and children end")
    some_run_was_lost(cluster)
    found = {}
    for line in started.read_text().splitlines():
        parent, fence, child = line.split()
        found.setdefault(parent, {}).setdefault(fence, set()).add(child)
    assert len(found) == parents, f"children of {len(found)} parents have run, there are {parents}"
    wrong = [parent for parent, fences in found.items() if [len(children) for children in fences.values()] != [3]]
    assert not wrong, f"{len(wrong)} parents have other children than the three of one run"
    assert cluster.total("finished") == 5 * parents, "others have finished"


@scenario(
    "groups",
    "a group grows over two queues while it runs; workers, its opener and Redis are killed: each callback starts once, behind all members",
    redis=("--appendonly", "yes", "--appendfsync", "always"),
)
def groups(cluster):
    queues, roots = ("default", "other"), 2
    # A root adds six, each of these five, and so on.
    members = roots * 1957
    workers = [cluster.worker(8, "-q", queue, program=FIXTURE) for queue in queues for _ in range(2)]
    opening = ("group", "open", "nightly", "--id", "nightly", "--lease", "10s", "--if-abandoned", "close", "-o", "id", "--quiet")
    group = cluster.run(*opening).stdout.strip()
    whens = "".join(json.dumps({"name": "exec", "args": {"argv": cluster.ledger.argv()}, "id": when, when: group}) + "\n" for when in ("onSuccess", "onEnd"))
    callbacks = cluster.run("enqueue", "--batch", "-", "-o", "id", "--quiet", input=whens).stdout.split()
    args = {"count": 6, "questions": 5, "queue": "other"}
    lines = "".join(json.dumps({"name": "test.crawl", "args": args, "group": group, "id": f"root-{n}"}) + "\n" for n in range(roots))
    opener = cluster.start("enqueue", "--batch", "-", "--quiet", input=lines)
    time.sleep(cluster.random.random() / 10)
    cluster.hit(opener)
    # A second opener repeats everything, and ends before it closes the group.
    assert cluster.run(*opening).stdout.strip() == group, "another group"
    again = cluster.run("enqueue", "--batch", "-", "-o", "id", "--quiet", input=whens).stdout.split()
    assert again == callbacks, "other callbacks"
    cluster.run("enqueue", "--batch", "-", "--quiet", input=lines)
    cluster.ids += callbacks
    for number in range(6):
        time.sleep(1)
        if number == 2:
            cluster.kill_redis()
            time.sleep(0.5)
            cluster.start_redis()
        index = cluster.random.randrange(len(workers))
        cluster.hit(workers[index])
        workers[index] = cluster.worker(8, "-q", queues[index // 2], program=FIXTURE)
    shown = lambda: json.loads(cluster.run("group", "show", group, "-o", "json").stdout)
    until(lambda: shown()["state"] == "finished", "the group finishes")
    some_run_was_lost(cluster)
    assert shown()["total"] == members, f"{shown()['total']} members, there are {members}"
    until(lambda: len(cluster.ledger.by_id("end")) == 2, "both callbacks end")
    records = cluster.records(callbacks)
    rows = cluster.run("list", f"group:{group}", "-o", "jsonl", "--quiet").stdout.splitlines()
    last = max(seconds(json.loads(row)["endedAt"]) for row in rows)
    early = [id for id in callbacks if seconds(records[id]["startedAt"]) < last]
    assert len(rows) == members and not early, f"{len(early)} callbacks have started before the last of {len(rows)} members had ended"
