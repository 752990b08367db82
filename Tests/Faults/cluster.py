"""A redis-server, a proxy, workers and the command line, each a real process of its own."""
import contextlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import time

from ledger import Ledger
from proxy import Proxy

LEASE = 3.0
# What DESIGN promises for the default lease, with ours: lease, one beat, one second.
RECOVERY = LEASE + LEASE / 3 + 1


# Longest patience with anything; negative controls have less, since most of what they wait for never comes.
patience = 300


class TimedOut(Exception):
    pass


def until(condition, what, seconds=30):
    """Waits for a condition that others bring about; returns how long it took."""
    begin, seconds = time.monotonic(), min(seconds, patience)
    while not condition():
        if time.monotonic() - begin > seconds:
            raise TimedOut(f"{what}: not within {seconds:.0f} s")
        time.sleep(0.05)
    return time.monotonic() - begin


class Cluster:
    def __init__(self, binary, folder, *redis_options, mutant=None):
        self.mutant = mutant
        self.binary = str(binary)
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True)
        self.ledger = Ledger(self.folder / "ledger")
        self.socket = str(self.folder / "redis.sock")
        self.redis_options = redis_options
        self.redis = None
        self.workers = []
        self.ids = []
        self.start_redis()
        self.proxy = Proxy(self.socket)

    # Redis
    def start_redis(self):
        self.redis = subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", self.socket, "--dir", str(self.folder), "--save", "", *self.redis_options],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        until(lambda: self._answers(), "redis-server answers", 60)

    def _answers(self):
        try:
            return self.command("PING") == "PONG"
        except (OSError, RuntimeError):
            return False

    def kill_redis(self):
        self.redis.kill()
        self.redis.wait()

    def command(self, *arguments):
        with socket.socket(socket.AF_UNIX) as link:
            link.settimeout(10)
            link.connect(self.socket)
            parts = [str(a).encode() for a in arguments]
            link.sendall(b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts))
            return _read(link.makefile("rb"))

    # Programs
    def url(self, through_proxy):
        return f"redis://127.0.0.1:{self.proxy.port}" if through_proxy else f"unix://{self.socket}"

    def environment(self, through_proxy=False):
        return {**os.environ, "SLUICE_REDIS_URL": self.url(through_proxy), "SLUICE_STATE_DIR": str(self.folder),
                **({"SLUICE_MUTANT": self.mutant} if self.mutant else {})}

    def worker(self, slots=4, *options, through_proxy=False, prefix=()):
        log = open(self.folder / f"worker-{len(self.workers)}.log", "wb")
        process = subprocess.Popen(
            [*prefix, self.binary, "worker", "-c", str(slots), "--allow", "exec", "--lease", f"{LEASE:.0f}s", *options],
            env=self.environment(through_proxy),
            stdout=subprocess.DEVNULL,
            stderr=log,
        )
        process.log = self.folder / f"worker-{len(self.workers)}.log"
        self.workers.append(process)
        return process

    def run(self, *arguments, input=None, check=True, timeout=60):
        done = subprocess.run(
            [self.binary, *arguments], env=self.environment(), input=input, capture_output=True, text=True, timeout=timeout
        )
        if check and done.returncode != 0:
            raise RuntimeError(f"sluice {' '.join(arguments)}: {done.returncode}\n{done.stderr}")
        return done

    def enqueue(self, count, body=":", **fields):
        line = json.dumps({"name": "exec", "args": {"argv": self.ledger.argv(body)}, **fields}) + "\n"
        ids = self.run("enqueue", "--batch", "-", "-o", "id", "--quiet", input=line * count).stdout.split()
        self.ids += ids
        return ids

    # Looking
    def records(self, ids=None):
        ids = self.ids if ids is None else ids
        found = {}
        for start in range(0, len(ids), 200):
            out = self.run("show", "-o", "jsonl", *ids[start : start + 200], check=False).stdout
            for text in out.splitlines():
                record = json.loads(text)
                found[record["id"]] = record
        return found

    def leased(self):
        """The workers that hold a lease."""
        return self.command("ZRANGE", "{sluice/default}:leases", 0, -1)

    def total(self, name):
        value = self.command("HGET", "{sluice/default}:totals", name)
        return int(value or 0)

    def ended(self):
        return sum(self.total(name) for name in ("finished", "dead", "cancelled", "expired"))

    def drain(self, seconds=60):
        return until(lambda: self.ended() >= len(self.ids), f"{len(self.ids)} operations end", seconds)

    def close(self):
        for worker in self.workers:
            if worker.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    worker.send_signal(signal.SIGCONT)
                    worker.kill()
            worker.wait()
        self.redis.kill()
        self.redis.wait()
        self.proxy.close()


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
