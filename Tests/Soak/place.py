"""The servers of a world: one with a replica, or a Redis Cluster, with or without users with minimal permissions."""
import subprocess
import time

from cluster import LEASE, Cluster
from ledger import Ledger, Line
from nodes import Nodes
from waits import note

DURABLE = ("--appendonly", "yes", "--appendfsync", "always")
PASSWORD = "of-the-soak"
ROLES = ("producer", "worker", "monitor", "operator")
# Like the script of Ledger, with the queue at the end. Without $LEDGER the program only does its work, for calls by
# hand.
SCRIPT = """say() { [ -z "$LEDGER" ] || echo "$SLUICE_OPERATION_ID $1 $SLUICE_ATTEMPT $SLUICE_DELIVERY $SLUICE_FENCE $EPOCHREALTIME $SLUICE_QUEUE" >> "$LEDGER"; }
say start; %s
say end
"""


class QueueLedger(Ledger):
    """A ledger that also has the queue of each run."""

    def lines(self):
        found, self.queue_of = [], {}
        for text in self.path.read_text().splitlines():
            id, what, attempt, delivery, fence, time, queue = text.split()
            found.append(Line(id, what, int(attempt), int(delivery), int(fence), float(time)))
            self.queue_of[id] = queue
        note(f"{len(found)} lines in the ledger")
        return found

    def starts_of(self, queue, since):
        return sum(1 for line in self.starts() if self.queue_of[line.id] == queue and line.time >= since)


class Place:
    """The common part of both kinds of places. Workers use a proxy, if one exists, so that they follow a failover."""

    def prepare(self, world):
        self.world = world
        # An earlier build, which a world is to fail on, passes Redis' variables without being asked.
        help = subprocess.run([self.binary, "worker", "--help"], capture_output=True, text=True, check=True).stdout
        self.passes_redis = ["--pass-redis"] if "--pass-redis" in help else []
        self.ledger = QueueLedger(self.folder / "ledger")
        for name in ("greet", "count"):
            program = self.folder / name
            program.write_text("#!/usr/bin/env bash\n" + SCRIPT % "sleep 0.05" + "echo null\n")
            program.chmod(0o755)

    def environment(self, through_proxy=False, role="operator"):
        found = super().environment(through_proxy) | {"LEDGER": str(self.ledger.path), "SLUICE": self.binary}
        return found | ({"SLUICE_REDIS_USER": f"sluice-{role}", "SLUICE_REDIS_PASSWORD": PASSWORD} if self.has_users else {})

    def start_worker(self, spec):
        log = open(self.folder / f"{spec.name}.log", "ab")
        options = [f"--handler={o.split('=')[1]}={self.folder / o.split('=')[1]}" if o.startswith("--handler") else o for o in spec.options]
        words = ["worker", "--name", spec.name, "-c", str(spec.slots), "-q", spec.queues, "--allow", "exec", "--lease", f"{LEASE:.0f}s",
                 "--pass-env", "LEDGER,SLUICE,SLUICE_REDIS_USER,SLUICE_REDIS_PASSWORD", *self.passes_redis, *options]
        process = subprocess.Popen([self.binary, *words], env=self.environment(True, "worker"), stdout=subprocess.DEVNULL, stderr=log)
        self.workers.append(process)
        return process

    def call(self, words, input=None, role=None, timeout=300):
        environment = self.environment(role=role or role_of(words)) | {"SLUICE_CONNECT_TIMEOUT": "20s"}
        return subprocess.run([self.binary, *words], env=environment, input=input, capture_output=True, text=True, timeout=timeout)

    def refused_permissions(self):
        """Returns the refusals to users with minimal permissions in the access log."""
        found = []
        for path in self.sockets() if self.has_users else ():
            try:
                entries = self.command("ACL", "LOG", at=path)
            except (OSError, RuntimeError):
                continue
            for entry in entries:
                fields = dict(zip(entry[::2], entry[1::2]))
                if fields["username"].startswith("sluice-"):
                    found.append(f"permission: {fields['username']} was refused {fields['reason']} {fields['object']}")
        return found


def role_of(words):
    """Returns the role for a command, as in the tests of the permissions (Tests/TestSupport/TestUsers.swift)."""
    if words[0] in ("enqueue", "wait") or words[:2] in (["group", "open"], ["group", "add"], ["group", "close"]):
        return "producer"
    if words[0] in ("show", "list", "explain", "stats") or words[:2] == ["group", "show"]:
        return "monitor"
    return "operator"


def options(binary, folder, has_users):
    if not has_users:
        return DURABLE
    rules = subprocess.run([binary, "config", "acl"], capture_output=True, text=True, check=True).stdout
    file = folder.parent / f"{folder.name}.acl"
    file.write_text("user default on nopass ~* &* +@all\n" + rules.replace(">PASSWORD", f">{PASSWORD}"))
    return (*DURABLE, "--aclfile", str(file))


class Server(Place, Cluster):
    """One server with a replica, behind a proxy."""

    def __init__(self, binary, folder, world):
        self.has_users, self.has_failed_over = world.has("users"), False
        super().__init__(binary, folder, *options(str(binary), folder, self.has_users))
        if world.has("failovers"):
            self.start_replica()
        self.prepare(world)

    def sockets(self):
        return [self.socket]

    def restart(self, _):
        if self.has_failed_over:
            return  # The replica has nothing on disk.
        self.kill_redis()
        self.start_redis()

    def refuse(self, seconds, number):
        """Makes Redis refuse writes for a while: as a replica, without enough replicas, or because it is full."""
        kind = ("replica", "replicas", "full")[number % 3]
        if kind == "replica" and not self.world.has("failovers"):
            begin, end = ("REPLICAOF", "127.0.0.1", "1"), ("REPLICAOF", "NO", "ONE")
        elif kind == "full":
            begin, end = ("CONFIG", "SET", "maxmemory", "1"), ("CONFIG", "SET", "maxmemory", "0")
        else:
            begin, end = ("CONFIG", "SET", "min-replicas-to-write", "5"), ("CONFIG", "SET", "min-replicas-to-write", "0")
        self.command(*begin)
        time.sleep(seconds)
        self.command(*end)

    def cut(self):
        self.faults += 1
        self.proxy.reset_all()

    def fail_over_orderly(self, _):
        self.step_down()
        self.fail_over()
        self.has_failed_over = True


class ClusterPlace(Place, Nodes):
    """Three masters of a Redis Cluster, two of them with replicas."""

    def __init__(self, binary, folder, world):
        self.has_users = world.has("users")
        super().__init__(binary, folder, *options(str(binary), folder, self.has_users))
        self.prepare(world)

    def sockets(self):
        return [node.socket for node in self.nodes]

    def restart(self, number):
        self.faults += 1
        self.masters[number % 3].restart()

    def refuse(self, seconds, number):
        node = self.masters[number % 3]
        name, on, off = (("maxmemory", "1", "0"), ("min-replicas-to-write", "5", "0"))[number % 2]
        self.command("CONFIG", "SET", name, on, at=node.socket)
        time.sleep(seconds)
        self.command("CONFIG", "SET", name, off, at=node.socket)

    def cut(self):
        for node in self.masters:
            self.command("CLIENT", "KILL", "TYPE", "normal", at=node.socket)

    def fail_over_orderly(self, number):
        master = list(self.replicas)[number % len(self.replicas)]
        self.hand_over(master)


def make_place(binary, folder, world):
    return (ClusterPlace if world.has("cluster") else Server)(binary, folder, world)
