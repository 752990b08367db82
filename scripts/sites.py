"""A redis-server with workers and commands, for the scripts that measure."""
import argparse
import json
import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time


class Site:
    """A redis-server and the processes that use it. All of them end together."""

    def __init__(self, binary, folder):
        self.binary, self.folder, self.children = binary, folder, []
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}"
        words = ["--port", self.port, "--bind", "127.0.0.1", "--save", "", "--dir", folder, "--maxmemory-policy", "noeviction"]
        self.server = self.start("redis-server", *words)
        self.wait("Redis", lambda: self.redis("ping") == "PONG")

    def environment(self, user=""):
        url = self.url.replace("//", f"//{user}@") if user else self.url
        return os.environ | {"SLUICE_REDIS_URL": url, "SLUICE_NAMESPACE": "load", "LC_ALL": "C.UTF-8", "SLUICE_CONNECT_TIMEOUT": "20s"}

    def start(self, *command):
        quiet = subprocess.DEVNULL
        child = subprocess.Popen([str(word) for word in command], stdin=quiet, stdout=quiet, stderr=quiet, env=self.environment())
        self.children.append(child)
        return child

    def redis(self, *words):
        command = ["redis-cli", "-p", str(self.port), *map(str, words)]
        # Arguments in the slow log need not be text.
        return subprocess.run(command, capture_output=True, text=True, errors="replace").stdout.strip()

    def command(self, *words, given=None, check=True):
        return subprocess.run([self.binary, *words], input=given, capture_output=True, text=True, env=self.environment(), check=check)

    def sluice(self, *words, given=None):
        return self.command(*words, given=given).stdout

    def stats(self):
        return json.loads(self.sluice("stats", "-o", "json"))

    @staticmethod
    def wait(what, condition, limit=300):
        end = time.monotonic() + limit
        while not condition():
            if time.monotonic() > end:
                raise SystemExit(f"error: {what} did not come within {limit} s")
            time.sleep(0.05)

    def end(self):
        for child in reversed(self.children):
            # A stopped process must continue before it can be collected.
            child.send_signal(signal.SIGCONT)
            child.kill()
            child.wait()


def free_port():
    """Returns a free port of the range FIRST-LAST in SLUICE_TEST_PORTS."""
    first, last = map(int, os.environ.get("SLUICE_TEST_PORTS", "20000-29999").split("-"))
    while True:
        port = random.randint(first, last)
        with socket.socket() as one:
            try:
                one.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


class Report:
    """Prints results beside their limits, and remembers which exceed a limit."""

    def __init__(self):
        self.failed = []

    def __call__(self, what, value, limit, unit):
        is_fine = value <= limit
        print(f"{'ok  ' if is_fine else 'FAIL'} {what}: {value:.2f} {unit} (limit {limit:g} {unit})", flush=True)
        if not is_fine:
            self.failed.append(what)


def run(make_site, measure, parser=None):
    """Measures at a site, ends it, and exits with 1 if a limit is exceeded."""
    parser = parser or argparse.ArgumentParser()
    parser.add_argument("--binary", default=".build/release/sluice")
    options = parser.parse_args()
    report = Report()
    with tempfile.TemporaryDirectory(prefix="sluice-site-") as folder:
        site = make_site(str(pathlib.Path(options.binary).resolve()), folder)
        try:
            measure(site, options, report)
        finally:
            site.end()
    sys.exit(1 if report.failed else 0)
