"""Scenarios with queues on several servers: nodes of a Redis Cluster, two of which have replicas."""
import os
import random
import socket

from cluster import Cluster
from waits import TimedOut, until
from registry import scenario


class Nodes(Cluster):
    """Three masters, of which two are a majority, and replicas of the first two. `queues` are on these two, in order.
    """

    def start_redis(self):
        options = ("--cluster-enabled", "yes", "--cluster-node-timeout", "15000", "--cluster-replica-no-failover", "yes",
                   "--cluster-config-file", "nodes.conf", "--repl-diskless-sync-delay", "0", *self.redis_options)
        self.nodes = [Node(self, f"n{number}", *options) for number in range(5)]
        self.masters, self.replicas = self.nodes[:3], dict(zip(self.nodes, self.nodes[3:]))
        self.socket = self.nodes[0].socket
        for node in self.nodes:
            until(node.answers, "redis-server answers")
        for number, node in enumerate(self.nodes):
            node.ask("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
            if node in self.masters:
                node.ask("CLUSTER", "ADDSLOTSRANGE", 5461 * number, (5461, 10922, 16384)[number] - 1)
            node.ask("CLUSTER", "MEET", "127.0.0.1", self.nodes[0].port)
        until(lambda: all(node.sees(len(self.nodes)) for node in self.nodes), "all nodes know all slots")
        for master, replica in self.replicas.items():
            replica.ask("CLUSTER", "REPLICATE", master.ask("CLUSTER", "MYID"))
        until(lambda: all(map(self.is_replicated, self.replicas)), "every replica follows its master")
        self.queues = [self._queue_on(master) for master in self.replicas]

    def _queue_on(self, master):
        names = (f"q{number}" for number in range(1000))
        return next(name for name in names if self._owner(f"{{sluice/{name}}}:meta") is master)

    def _owner(self, key):
        slot = self.nodes[0].ask("CLUSTER", "KEYSLOT", key)
        return self.masters[next(number for number, end in enumerate((5461, 10922, 16384)) if slot < end)]

    def is_replicated(self, master):
        return self._has_all(master.socket, self.replicas[master].socket)

    def hold_back(self, master):
        """Cuts off the replica: it gets a password that its master does not know."""
        replica = self.replicas[master]
        replica.ask("CONFIG", "SET", "masterauth", "not-known-there")
        master.ask("CLIENT", "KILL", "TYPE", "replica")
        until(lambda: "master_link_status:down" in replica.ask("INFO", "replication"), "the replica is cut off")

    def fail_over_from(self, master):
        """Kills the master. The replica takes over with the data that it has."""
        self.faults += 1
        master.process.kill()
        master.process.wait()
        replica = self.replicas[master]
        replica.ask("CLUSTER", "FAILOVER", "TAKEOVER")
        until(lambda: "role:master" in replica.ask("INFO", "replication"), "the replica takes over")
        self.masters[self.masters.index(master)] = replica

    def hand_over(self, master):
        """Lets the replica take over when it has everything. The master becomes its replica."""
        self.faults += 1
        replica = self.replicas.pop(master)
        until(lambda: "master_link_status:up" in replica.ask("INFO", "replication"), "the replica follows")
        replica.ask("CLUSTER", "FAILOVER")
        until(lambda: "role:master" in replica.ask("INFO", "replication"), "the replica takes over")
        self.masters[self.masters.index(master)] = replica
        self.replicas[replica] = master

    def command(self, *arguments, at=None):
        if at:
            return super().command(*arguments, at=at)
        return super().command(*arguments, at=self._owner(arguments[1]).socket)

    def close(self):
        self.redis, *self.others = (node.process for node in self.nodes)
        super().close()

    def url(self, through_proxy):
        return "redis+cluster://" + ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)


class Node:
    """One server of a cluster."""

    def __init__(self, cluster, name, *options):
        folder = cluster.folder / name
        folder.mkdir()
        self.cluster, self.port, self.socket = cluster, free_port(), str(cluster.folder / f"{name}.sock")
        self.start = lambda: cluster._server(self.socket, folder, *options, port=self.port)
        self.process = self.start()

    def restart(self):
        """Kills the server and starts it again from its disk."""
        self.process.kill()
        self.process.wait()
        self.process = self.start()
        until(self.answers, "redis-server answers")

    def ask(self, *arguments):
        return self.cluster.command(*arguments, at=self.socket)

    def answers(self):
        try:
            return self.ask("PING") == "PONG"
        except (OSError, RuntimeError):
            return False

    def sees(self, count):
        info = self.ask("CLUSTER", "INFO")
        return all(fact in info for fact in ("cluster_state:ok", "cluster_slots_ok:16384", f"cluster_known_nodes:{count}\r"))


def free_port():
    """Returns a free port of the range FIRST-LAST in SLUICE_TEST_PORTS. Nodes talk on the port that is 10,000 higher.
    """
    first, last = map(int, os.environ.get("SLUICE_TEST_PORTS", "25000-27499").split("-"))
    while True:
        port = random.randint(first, last)
        with socket.socket() as one, socket.socket() as other:
            try:
                one.bind(("127.0.0.1", port))
                other.bind(("127.0.0.1", port + 10_000))
                return port
            except OSError:
                continue


class Pairs:
    """Operations of one queue, every sixth of which fails, and for each one a dependent in another queue."""

    def __init__(self, cluster, first, second):
        self.cluster, self.queues = cluster, (first, second)
        self.first, self.second, self.failing = [], [], set()

    def add(self, count):
        """Enqueues more, and returns the ids in both queues."""
        first, second = self.queues
        ids = self.cluster.enqueue_each(self.line(first, "exit 1" if number % 6 == 5 else ":") for number in range(count))
        dependents = self.cluster.enqueue_each(self.line(second, after=[f"{first}/{id}"]) for id in ids)
        self.failing |= set(ids[5::6])
        self.first += ids
        self.second += dependents
        return ids, dependents

    def line(self, queue, body=":", **fields):
        argv = self.cluster.ledger.argv(f"sleep 0.2; {body}")
        return {"name": "exec", "args": {"argv": argv}, "queue": queue, "attempts": 1, **fields}

    def check(self):
        starts, ends = self.cluster.ledger.by_id(), self.cluster.ledger.by_id("end")
        for first, second in zip(self.first, self.second):
            begun = min((line.time for line in starts[second]), default=None)
            if first in self.failing:
                assert begun is None, f"{second} has begun, and what it waits for has failed"
            elif begun is not None:
                ended = min((line.time for line in ends[first]), default=None)
                assert ended is not None and ended <= begun, f"{second} has begun before what it waits for had ended"


def lose_the_last(cluster, dying, first, second):
    """Kills the server of a queue. The successor lacks the last changes."""
    master = dict(zip(cluster.queues, cluster.replicas))[dying]
    pairs = Pairs(cluster, first, second)
    pairs.add(60)
    until(lambda: sum(id in cluster.ledger.by_id() for id in pairs.second) >= 10, "some start that have waited")
    for queue in (first, second):
        cluster.run("queue", "pause", queue)
    # The workers may have run all by now, if the pause was slow. These wait for the end of the pause.
    _, waiting_ones = pairs.add(60)
    until(lambda: cluster.is_replicated(master), "the replica has everything")
    cluster.hold_back(master)
    late = Pairs(cluster, first, second)
    late.add(6)
    for queue in (first, second):
        cluster.run("queue", "resume", queue)
    until(lambda: sum(id in cluster.ledger.by_id() for id in waiting_ones) >= 20, "more start that have waited")
    cluster.fail_over_from(master)
    forgotten = late.first if dying == first else late.second
    until(lambda: cluster.run("stats", check=False).returncode == 0, "the other servers know of it")
    # The replica knows of the pause, but not of its end.
    cluster.run("queue", "resume", dying)
    assert not cluster.records(forgotten), "the replica was not late: this proves nothing"
    ids = pairs.first + pairs.second + [id for id in late.first + late.second if id not in forgotten]
    # Each remaining operation waits for a forgotten one, unless it ran before.
    left = set(late.second) - set(forgotten) if dying == first else set()

    def waiting():
        return {id for id, record in cluster.records(ids).items() if record["endedAt"] is None}

    try:
        until(lambda: waiting() <= left, "all have ended that can")
    except TimedOut:
        stuck = (waiting() - left).pop()
        raise AssertionError(f"{stuck} does not end: " + cluster.run("explain", stuck, check=False).stdout) from None
    for id in waiting():
        explained = cluster.run("explain", id).stdout
        assert "is not in its queue" in explained, explained
        cluster.cancel(id)
    starts, rolled_back = cluster.ledger.by_id(), pairs.first if dying == first else pairs.second
    assert any(len(starts[id]) > 1 for id in rolled_back), "none of what had run was forgotten: this proves nothing"
    records = cluster.records(ids)
    assert len(records) == len(ids), f"{len(ids) - len(records)} are missing that the replica had"
    pairs.check()
    late.check()
    for id, second in zip(pairs.first, pairs.second):
        states = [records[each]["state"] for each in (id, second)]
        assert states == (["dead", "cancelled"] if id in pairs.failing else ["finished", "finished"]), f"{id}, {second}: {states}"


@scenario("relay-failover", "operations of one server wait for those of another; the master of either dies, and its successor lacks the last second: all end, in order",
          loses=True, place=Nodes)
def relay_failover(cluster):
    first, second = cluster.queues
    for queue in cluster.queues:
        for _ in range(2):
            cluster.worker(4, "-q", queue)
    # First the server of the dependencies dies, then the server of the dependents.
    lose_the_last(cluster, first, first, second)
    lose_the_last(cluster, second, first, second)
