"""A redis-server, a proxy, workers and the command line, each a separate process."""
import contextlib
import json
import os
import pathlib
import signal
import socket
import struct
import subprocess
import time

import waits
from ledger import Ledger
from pace import Pace
from proxy import Proxy
from waits import note, until

LEASE = 3.0
# `sluice` with the operations of tests (Tests/WorkerFixture), built into the same folder
FIXTURE = "worker-fixture"
# The promised time to recover operations of a dead worker: lease, one heartbeat, one second
RECOVERY = LEASE + LEASE / 3 + 1


class Cluster:
    def __init__(self, binary, folder, *redis_options, mutant=None, clock=None):
        self.mutant = mutant
        self.binary = str(binary)
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True)
        self.ledger = Ledger(self.folder / "ledger")
        self.socket = str(self.folder / "redis.sock")
        self.redis_options = redis_options
        self.redis = None
        self.workers = []
        self.others = []
        self.replica_link = None
        self.ids = []
        self.faults = 0
        self.clock = None
        if clock:
            self.clock = self.folder / "clock"
            self.clock.write_bytes(bytes(8))
        self.clock_library = clock
        self.start_redis()
        self.proxy = Proxy(self.socket)
        self.pace = Pace(self._is_there)

    def within(self, seconds, since):
        """Returns whether less than this time has passed since then, plus the delay of the machine itself."""
        return time.time() - since < seconds + self.pace.delay(since)

    # Redis
    def start_redis(self):
        faked = {"LD_PRELOAD": str(self.clock_library), "SLUICE_CLOCK": str(self.clock)} if self.clock else {}
        self.redis = self._server(self.socket, self.folder, *self.redis_options, environment={**os.environ, **faked})
        until(lambda: self._answers(), "redis-server answers")

    @staticmethod
    def _server(path, folder, *options, port=0, environment=None):
        return subprocess.Popen(
            ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--unixsocket", path, "--dir", str(folder), "--save", "", *options],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
        )

    def set_clock(self, offset, clock=None):
        """Sets the clock of Redis, or of the program that reads `clock`, to an offset from the real time in seconds."""
        self.faults += 1
        with open(clock or self.clock, "r+b") as file:
            file.write(struct.pack("=q", offset))

    def start_replica(self):
        """Starts a second Redis that copies the first one through a separate proxy."""
        folder = self.folder / "replica"
        folder.mkdir()
        self.replica_socket = str(self.folder / "replica.sock")
        self.replica_link = Proxy(self.socket)
        self.others.append(self._server(self.replica_socket, folder, "--replicaof", "127.0.0.1", str(self.replica_link.port),
                                        "--repl-diskless-sync-delay", "0"))
        until(self.is_replicated, "the replica follows")

    def is_replicated(self):
        """Returns whether the replica has everything."""
        return self._has_all(self.socket, self.replica_socket)

    def _has_all(self, master, replica):
        try:
            there = self.command("INFO", "replication", at=replica)
        except (OSError, RuntimeError):
            return False
        here = self.command("INFO", "replication", at=master)
        return "master_link_status:up" in there and _field(here, "master_repl_offset") == _field(there, "slave_repl_offset")

    def step_down(self):
        """Steps down as in an orderly FAILOVER.

        Writes stop first, so the replica gets everything. Then the replica becomes the master, and the old master
        accepts no writes.
        """
        self.command("CLIENT", "PAUSE", 60000, "WRITE")
        until(self.is_replicated, "the replica has everything")
        self.command("REPLICAOF", "NO", "ONE", at=self.replica_socket)
        self.command("REPLICAOF", "127.0.0.1", "1")
        self.command("CLIENT", "UNPAUSE")

    def fail_over(self):
        """Promotes the replica. Connections through the proxy reach it from now on."""
        self.command("REPLICAOF", "NO", "ONE", at=self.replica_socket)
        self.proxy.target = self.socket = self.replica_socket
        self.proxy.reset_all()

    def _is_there(self):
        """Connects and does nothing else: a server that is stopped or paused must not count as a delay of the machine.
        """
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as link:
            link.connect(self.socket)

    def _answers(self):
        try:
            return self.command("PING") == "PONG"
        except (OSError, RuntimeError):
            return False

    def kill_redis(self):
        self.faults += 1
        self.redis.kill()
        self.redis.wait()

    def command(self, *arguments, at=None):
        self.faults += arguments[0] in ("CONFIG", "CLIENT", "REPLICAOF", "SCRIPT")
        with socket.socket(socket.AF_UNIX) as link:
            link.settimeout(300)
            link.connect(at or self.socket)
            parts = [str(a).encode() for a in arguments]
            link.sendall(b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts))
            return _read(link.makefile("rb"))

    # Programs
    def url(self, through_proxy):
        return f"redis://127.0.0.1:{self.proxy.port}" if through_proxy else f"unix://{self.socket}"

    def environment(self, through_proxy=False):
        return {**os.environ, "SLUICE_REDIS_URL": self.url(through_proxy), "SLUICE_STATE_DIR": str(self.folder),
                **({"SLUICE_MUTANT": self.mutant} if self.mutant else {})}

    def worker(self, slots=4, *options, program=None, through_proxy=False, prefix=()):
        """Starts a worker of `sluice`, or of another program in the same folder."""
        binary = pathlib.Path(self.binary).with_name(program) if program else self.binary
        log = open(self.folder / f"worker-{len(self.workers)}.log", "wb")
        process = subprocess.Popen(
            [*prefix, binary, "worker", "-c", str(slots), "--allow", "exec", "--lease", f"{LEASE:.0f}s", *options],
            env=self.environment(through_proxy),
            stdout=subprocess.DEVNULL,
            stderr=log,
        )
        process.log = self.folder / f"worker-{len(self.workers)}.log"
        self.workers.append(process)
        return process

    def hit(self, process, number=signal.SIGKILL):
        self.faults += 1
        process.send_signal(number)

    def run(self, *arguments, input=None, check=True, timeout=300, connect_timeout="20s"):
        # Without this setting a command gives up after two seconds, which is short on a busy machine.
        patient = {"SLUICE_CONNECT_TIMEOUT": connect_timeout}
        done = subprocess.run(
            [self.binary, *arguments], env=self.environment() | patient, input=input, capture_output=True, text=True, timeout=timeout
        )
        if check and done.returncode != 0:
            raise RuntimeError(f"sluice {' '.join(arguments)}: {done.returncode}\n{done.stderr}")
        return done

    def start(self, *arguments, input):
        """Starts a program that may be killed while it runs."""
        process = subprocess.Popen(
            [self.binary, *arguments], env=self.environment(), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self.workers.append(process)
        process.stdin.write(input.encode())
        process.stdin.close()
        return process

    def cancel(self, *ids, check=True):
        """Cancels operations, and waits until running ones have stopped."""
        return self.run("cancel", *ids, f"--wait={min(60, waits.patience):.0f}s", check=check, timeout=120)

    def enqueue(self, count, body=":", name="exec", args=None, **fields):
        return self.enqueue_each([{"name": name, "args": args or {"argv": self.ledger.argv(body)}, **fields}] * count)

    def enqueue_each(self, lines):
        """Enqueues the different lines of a batch."""
        input = "".join(json.dumps(line) + "\n" for line in lines)
        ids = self.run("enqueue", "--batch", "-", "-o", "id", "--quiet", input=input).stdout.split()
        self.ids += ids
        return ids

    # Looking
    def records(self, ids=None):
        """Returns the records by id, of those operations that have one."""
        ids, found = self.ids if ids is None else ids, {}
        for start in range(0, len(ids), 200):
            found |= self._show(ids[start : start + 200])
        return found

    def _show(self, ids):
        done = self.run("show", "-o", "jsonl", *ids, check=False)
        if done.returncode == 3 and len(ids) > 1:  # one unknown id hides all others
            half = len(ids) // 2
            return self._show(ids[:half]) | self._show(ids[half:])
        return {record["id"]: record for record in map(json.loads, done.stdout.splitlines())}

    def leased(self):
        """Returns the workers that hold a lease."""
        workers = self.command("ZRANGE", "{sluice/default}:leases", 0, -1)
        note(f"with a lease: {workers}")
        return workers

    def total(self, name):
        """Returns a total over all queues."""
        queues = self.command("SMEMBERS", "sluice:queues")
        total = sum(int(self.command("HGET", f"{{sluice/{queue}}}:totals", name) or 0) for queue in queues)
        note(f"{name}: {total}")
        return total

    def ended(self):
        return sum(self.total(name) for name in ("finished", "dead", "cancelled", "expired"))

    def drain(self, seconds=300):
        return until(lambda: self.ended() >= len(self.ids), f"{len(self.ids)} operations end", seconds)

    def close(self):
        self.pace.close()
        for worker in self.workers:
            if worker.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    worker.send_signal(signal.SIGCONT)
                    worker.kill()
            worker.wait()
        for server in [self.redis, *self.others]:
            server.kill()
            server.wait()
        self.proxy.close()
        if self.replica_link:
            self.replica_link.close()


def _field(text, name):
    return next(line.split(":")[1] for line in text.splitlines() if line.startswith(name + ":"))


def _read(file):
    line = file.readline()
    if not line:
        raise OSError("the server closed the connection")
    line = line.rstrip()
    if line[:1] == b"$":
        return None if line == b"$-1" else file.read(int(line[1:]) + 2)[:-2].decode()
    if line[:1] == b"*":
        return [_read(file) for _ in range(int(line[1:]))]
    if line[:1] == b"-":
        raise RuntimeError(line.decode())
    return int(line[1:]) if line[:1] == b":" else line[1:].decode()
