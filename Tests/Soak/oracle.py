"""Checks `explain` while nothing is broken.

An operation that may start must start within two heartbeats, and every reason must be true.
"""
import concurrent.futures
import json
import time

from cluster import LEASE

BEAT = LEASE / 3
# The longest body of a world, in seconds
BODY = 0.6
# With only these reasons an operation waits for others of its queue, key or worker. The others end, so the queue
# must continue.
FLOW = {"backlog", "limited", "slotsBusy", "keyLimited", "keyTurn", "rateReached", "keyRateReached"}


class Oracle:
    def __init__(self, place, queues):
        self.place, self.queues, self.findings, self.looks = place, queues, [], 0
        self.begin()

    def begin(self):
        """Begins a calm: forgets earlier explanations."""
        self.free, self.flowing, self.needless = {}, {}, {}

    def look(self):
        """Checks the first operations of all queues at once, because an explanation measures for a second."""
        self.looks += 1
        with concurrent.futures.ThreadPoolExecutor(len(self.queues)) as pool:
            for queue, found in zip(self.queues, pool.map(self._explain, self.queues)):
                self._judge(queue, found)

    def _explain(self, queue):
        begin, found = time.time(), []
        for state, count in (("ready", 3), ("blocked", 2)):
            done = self.place.call(["explain", "-w", f"queue:{queue} state:{state}", "--limit", str(count), "-o", "jsonl"])
            if done.returncode not in (0, 3):
                self.findings.append(f"explain: exit {done.returncode}: {done.stderr[-300:]}")
            found += map(json.loads, done.stdout.splitlines())
        return begin, found

    def _judge(self, queue, found):
        asked, explanations = found
        for each in explanations:
            self._may_start(each, asked)
            self._needs_are_true(each, asked)
        ready = [each for each in explanations if each["state"] == "ready"]
        self._goes_on(queue, ready, asked)

    def _may_start(self, each, asked):
        if each["reasons"] or each["state"] not in ("ready", "blocked"):
            self.free.pop(each["id"], None)
            return
        since = self.free.setdefault(each["id"], asked)
        if asked - since > 2 * BEAT + self._slack(since):
            self.findings.append(f"liveness: {each['id']} may start for {asked - since:.1f} s: {each['sentence']}")

    def _goes_on(self, queue, ready, asked):
        codes = [{reason["code"] for reason in each["reasons"]} for each in ready]
        if not ready or not all(each <= FLOW for each in codes):
            self.flowing.pop(queue, None)
            return
        since = self.flowing.setdefault(queue, asked)
        if self.place.ledger.starts_of(queue, since):
            self.flowing[queue] = time.time()
        elif asked - since > 2 * BEAT + BODY + self._slack(since):
            self.findings.append(f"liveness: nothing of {queue} starts for {asked - since:.1f} s: {[each['sentence'] for each in ready]}")

    def _needs_are_true(self, each, asked):
        """Checks that a dependency in a reason has not finished, or that the operation learns of its end soon.

        A relay between queues runs once per heartbeat.
        """
        facts = [fact for reason in each["reasons"] if reason["code"] == "needs" for fact in reason["facts"]]
        if not any(fact["name"] == "needs" and fact["text"].endswith(", finished") for fact in facts):
            self.needless.pop(each["id"], None)
            return
        since = self.needless.setdefault(each["id"], asked)
        if asked - since > 2 * BEAT + self._slack(since):
            self.findings.append(f"liveness: {each['id']} waits for {asked - since:.1f} s for what has finished: {each['sentence']}")

    def _slack(self, since):
        return 1.0 + 3 * self.place.pace.delay(since)
