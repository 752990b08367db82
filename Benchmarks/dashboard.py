"""Measures `sluice dashboard` over many operations: first paint, the list API, memory, the load of Redis, and how soon
a change appears. Exits with 1 if a limit is exceeded.

usage: python3 Benchmarks/dashboard.py [--binary .build/release/sluice] [--operations 1000000] [--queues 100]
                                       [--workers 50] [--tabs 20] [--seeder SLUICE]

The results need a release build, and a machine that does nothing else. The workers run, and their queues are paused, so
the operations wait. --seeder enqueues with another program than the measured one.
"""
import argparse
import http.client
import itertools
import json
import os
import pathlib
import re
import statistics
import sys
import time
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "scripts"))
from browser import Browser
from dashboard_site import DashboardSite
from sites import run

PAINT = """new Promise((resolve) => new PerformanceObserver((list) => {
  const entry = list.getEntriesByName('first-contentful-paint')[0];
  if (entry) resolve(entry.startTime);
}).observe({ type: 'paint', buffered: true }))"""
NAMES = ["SendMail", "MonthlyReport", "SyncContacts", "ResizeImage", "Invoice"]
CHUNK = 50_000
# The commands that run a script
SCRIPTS = {"evalsha", "eval", "fcall"}
REQUESTS, PAINTS, SECONDS, CHANGES, REFRESHES = 500, 5, 30, 5, 10
# Seconds between two readings of Redis. At the slow interval, each reading reads everything.
INTERVAL, SLOW_INTERVAL = 1, 6


class LargeSite(DashboardSite):
    """A site whose dashboard is the measured program. All other commands are those of the seeder."""

    def __init__(self, binary, folder):
        super().__init__(binary, folder)
        self.measured, self.crew = binary, []

    def dashboard(self, *options, **more):
        others, self.binary = self.binary, self.measured
        try:
            return super().dashboard(*options, **more)
        finally:
            self.binary = others

    def seed(self, options):
        self.binary = options.seeder or self.binary
        queues = [f"queue-{number:03}" for number in range(options.queues)]
        for first in range(0, options.operations, CHUNK):
            count = min(CHUNK, options.operations - first)
            self.sluice("enqueue", "--batch", "-", "--quiet", given="".join(self.line(queues, first + n) for n in range(count)))
            print(f"\r{first + count:,} operations", end="", file=sys.stderr, flush=True)
        print(file=sys.stderr)
        self.sluice("queue", "pause", *queues, "--reason", "measured", "-y")
        for number in range(options.workers):
            served = ",".join(queues[(2 * number + n) % len(queues)] for n in range(2))
            self.start_worker("-q", served, "-c", "8", "--name", f"worker-{number:02}")
        self.wait("the workers", lambda: len(self.workers()) == options.workers, limit=300)

    def start_worker(self, *words):
        self.crew.append(self.start(self.binary, "worker", *words))

    def end_workers(self):
        for worker in self.crew:
            worker.terminate()
        for worker in self.crew:
            worker.wait()

    @staticmethod
    def line(queues, number):
        fields = {"name": NAMES[number % 5], "queue": queues[number % len(queues)], "args": {"user": number, "kind": "measured"}}
        if number % 10 == 9:
            fields["in"] = f"{1 + number % 96}h"
        if number % 50 == 0:
            fields["tags"] = ["newsletter"]
        return json.dumps(fields) + "\n"

    def workers(self):
        return json.loads(self.sluice("workers", "ls", "-o", "json"))["workers"]

    def commands(self):
        """Returns the commands that Redis has run, also those of scripts."""
        lines = self.redis("info", "stats").splitlines()
        return int(next(line.split(":")[1] for line in lines if line.startswith("total_commands_processed")))

    def scripts(self):
        """Returns the scripts that Redis has run."""
        lines = (line.split(":") for line in self.redis("info", "commandstats").splitlines() if ":" in line)
        return sum(int(re.search(r"calls=(\d+)", text)[1]) for name, text in lines if name.removeprefix("cmdstat_").split("_")[0] in SCRIPTS)

    def rate(self):
        """Returns the commands that Redis runs in a second."""
        before, begin = self.commands(), time.monotonic()
        time.sleep(SECONDS)
        return (self.commands() - before) / (time.monotonic() - begin)

    def memory(self, field):
        lines = pathlib.Path(f"/proc/{self.server_process.pid}/status").read_text().splitlines()
        return int(next(line.split()[1] for line in lines if line.startswith(field))) / 1024


class Measuring:
    def __init__(self, site, options, report):
        self.site, self.options, self.report = site, options, report
        self.browser = Browser()

    def log_in(self):
        self.tab = self.browser.tab(self.site.home)
        self.tab.open(self.site.login)
        self.cookies = self.tab.call("Network.getCookies")["cookies"]

    def paint(self, title, path):
        times = []
        for _ in range(PAINTS):
            self.tab.open(self.site.home + path)
            times.append(self.tab.evaluate(PAINT))
        print(f"     {title}: {', '.join(f'{each:.0f}' for each in times)} ms")
        self.report(f"first paint of {title}", max(times), 1000, "ms")

    def api(self):
        link, headers = self.connection()
        queries = ["", "state:ready", "state:scheduled", "queue:queue-001", "queue:queue-042 state:ready", "state:dead"]
        times, cursor = [], ""
        for query in itertools.islice(itertools.cycle(queries), REQUESTS):
            path = "/api/v1/operations?" + urllib.parse.urlencode({"q": query, "limit": 50} | ({"cursor": cursor} if cursor else {}))
            begin = time.perf_counter()
            link.request("GET", path, headers=headers)
            answer = link.getresponse()
            body = answer.read()
            times.append((time.perf_counter() - begin) * 1000)
            assert answer.status == 200, (path, answer.status)
            # Every second request of the first query continues where the last one ended.
            cursor = json.loads(body)["cursor"] or "" if query == "" and not cursor else ""
        times.sort()
        print(f"     list API: p50 {statistics.median(times):.1f} ms, p95 {times[int(len(times) * 0.95)]:.1f} ms, max {times[-1]:.1f} ms")
        self.report("list API, p99", times[int(len(times) * 0.99)], 100, "ms")

    def load(self):
        """Measures the commands of Redis without a tab, with one, and with many, each in a profile of its own."""
        self.tab.open("about:blank")
        rates = [self.site.rate()]
        tabs = []
        for count in 1, self.options.tabs:
            while len(tabs) < count:
                tab = self.browser.tab(self.site.home, is_separate=True)
                for each in self.cookies:
                    tab.call("Network.setCookie", name=each["name"], value=each["value"], url=self.site.home)
                tab.open(self.site.home)
                tab.until("document.getElementById('badge').classList.contains('live')")
                tabs.append(tab)
            rates.append(self.site.rate())
        print(f"     commands of Redis: {rates[0]:.0f}/s without a tab, {rates[1]:.0f}/s with 1, {rates[2]:.0f}/s with {self.options.tabs}")
        self.report(f"more commands with {self.options.tabs} tabs than with one", (rates[2] / rates[1] - 1) * 100, 10, "%")
        self.report("memory of the dashboard with these tabs", self.site.memory("VmRSS"), 120, "MB")
        for tab in tabs:
            tab.close()

    def lists(self):
        """Measures how many more scripts a refresh costs if a tab shows a list of its own, not the overview. The workers
        end before, because their scripts would be counted, too."""
        self.site.end_workers()
        self.site.dashboard(interval=f"{SLOW_INTERVAL}s")
        self.log_in()
        before = self.scripts_a_refresh("/")
        after = self.scripts_a_refresh("/ops?q=queue%3Aqueue-001")
        print(f"     scripts a refresh: {before:.2f} with the overview, {after:.2f} with a list")
        self.report("more scripts a refresh with a list than with the overview", after - before, 1, "scripts")

    def scripts_a_refresh(self, path):
        """Counts the scripts of Redis between two events of the stream, while a tab shows this page. The queue of the list
        changes before each refresh: otherwise its rows are not read again."""
        self.tab.open(self.site.home + path)
        self.tab.until("document.getElementById('badge').classList.contains('live')")
        link, headers = self.connection()
        link.request("GET", "/live", headers=headers)
        stream = link.getresponse()
        self.skip_refreshes(stream, 2)
        before = self.site.scripts()
        self.skip_refreshes(stream, REFRESHES)
        scripts = self.site.scripts() - before
        link.close()
        return scripts / REFRESHES

    def skip_refreshes(self, stream, count):
        while count:
            if stream.readline().startswith(b"id:"):
                count -= 1
                self.site.enqueue({"name": NAMES[0], "queue": "queue-001"})

    def connection(self):
        """Returns a connection with the dashboard, and the headers of a request by the person of this browser."""
        link = http.client.HTTPConnection(urllib.parse.urlsplit(self.site.home).netloc)
        return link, {"Cookie": "; ".join(f"{each['name']}={each['value']}" for each in self.cookies)}

    def appearance(self):
        """Measures how soon an enqueue, progress and a cancel are on the page."""
        gate = pathlib.Path(self.site.folder, "gate")
        os.mkfifo(gate)
        program = pathlib.Path(self.site.folder, "handler")
        program.write_text(f"#!/bin/sh\nwhile read -r line <'{gate}'; do echo \"{{\\\"progress\\\":0.5,\\\"message\\\":\\\"$line\\\"}}\" >&3; done\n")
        program.chmod(0o755)
        self.site.start_worker("-q", "fresh", "--handler", f"Fresh={program}", "--name", "fresh-1")
        found = {"enqueue": [], "progress": [], "cancel": []}
        for number in range(CHANGES):
            self.tab.open(f"{self.site.home}/ops?q=queue%3Afresh")
            self.tab.until("document.getElementById('badge').classList.contains('live')")
            self.site.enqueue({"name": "Fresh", "queue": "fresh", "id": f"fresh-{number}"})
            found["enqueue"].append(self.until("document.getElementById('news').textContent.startsWith('1 new')"))
            self.tab.open(f"{self.site.home}/ops/fresh-{number}")
            self.tab.until("document.querySelector('main .state.executing')")
            gate.write_text(f"mark {number}\n")
            found["progress"].append(self.until(f"document.querySelector('main').textContent.includes('mark {number}')"))
            self.site.sluice("cancel", f"fresh/fresh-{number}", "-y")
            found["cancel"].append(self.until("document.querySelector('main .state.cancelled')"))
        for what, times in found.items():
            print(f"     {what}: {', '.join(f'{each:.2f}' for each in times)} s")
            self.report(f"{what} appears", max(times), 2, "s")

    def until(self, condition):
        begin = time.monotonic()
        self.tab.until(condition)
        return time.monotonic() - begin


def measure(site, options, report):
    site.seed(options)
    print(f"{options.operations:,} operations in {options.queues} queues, {options.workers} workers")
    site.dashboard(interval=f"{INTERVAL}s")
    measuring = Measuring(site, options, report)
    try:
        measuring.log_in()
        measuring.paint("Overview", "/")
        measuring.paint("the list", "/ops")
        measuring.paint("Performance", "/performance")
        measuring.api()
        measuring.load()
        measuring.appearance()
        report("memory of the dashboard at its peak", site.memory("VmHWM"), 120, "MB")
        measuring.lists()
    finally:
        measuring.browser.end()


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--operations", type=int, default=1_000_000)
parser.add_argument("--queues", type=int, default=100)
parser.add_argument("--workers", type=int, default=50)
parser.add_argument("--tabs", type=int, default=20)
parser.add_argument("--seeder")
run(LargeSite, measure, parser)
