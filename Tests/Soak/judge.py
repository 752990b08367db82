"""Compares the real runs in the ledger with the requests and with the records."""
import json

from ledger import findings as of_ledger
from limits import overlaps, seconds

ENDED = ("finished", "dead", "cancelled", "expired")


class Judge:
    def __init__(self, play):
        self.play, self.place, self.world = play, play.place, play.world
        self.records = self.place_records()
        self.starts, self.ends = self.place.ledger.by_id(), self.place.ledger.by_id("end")
        self.lines = {play.ids[line["text"]]: line for line in self.world.lines if line["text"] in play.new}

    def place_records(self):
        done = self.play.retried(["list", "-o", "jsonl"])
        return {record["id"]: record for record in map(json.loads, done.stdout.splitlines())}

    def findings(self):
        found = []
        for check in (
            self.nothing_is_lost, self.runs_are_explained, self.limits, self.keys, self.needs, self.expired, self.permissions, self.nothing_is_left
        ):
            try:
                found += check()
            except AssertionError as failure:
                found.append(f"{check.__name__}: {failure}")
        return found

    def nothing_is_lost(self):
        # Only these have no record: removed operations, finished untracked ones, and callbacks of a death that never
        # came.
        may_go = any(self.world.has(feature) for feature in ("removals", "group-changes", "queue-cancels"))
        for id, line in self.lines.items():
            record = self.records.get(id)
            if record is None and not may_go and not (not line.get("track", True) and id in self.ends) and "onFirstDeath" not in line:
                yield f"lost: {line['text']} {id} has no record" + ("" if id in self.starts else ", and never started")

    def runs_are_explained(self):
        tracked = {id: record for id, record in self.records.items() if record["state"] in ENDED}
        known = [id for id in self.starts if id in tracked]
        # An operation that is retried by hand begins at the first attempt, so earlier runs are not in its record.
        again = any(self.world.has(feature) for feature in ("reruns", "tree-reruns", "group-changes"))
        found = of_ledger(self.place.ledger, [*self.starts], tracked, may_return=True)
        return [text for text in found if not text.startswith("lost") and not (again and text.startswith("unexplained"))] if known else []

    def limits(self):
        for queue, limits in self.world.limits.items():
            here = {id for id in self.starts if self.place.ledger.queue_of[id] == queue}
            if "concurrency" in limits and here & set(self.ends):
                overlaps(self.place, here, limits["concurrency"])
            if "rate" in limits:
                yield from self.rate(queue, here, limits["rate"], limits["burst"])

    def rate(self, what, ids, rate, burst):
        """Yields a finding if more started in a time than rate and burst allow, plus the slots of stopped workers."""
        rate, slots = int(rate.split("/")[0]), sum(worker.slots for worker in self.world.workers) * 2
        times = sorted(line.time for id in ids for line in self.starts[id])
        most = max((number + 1 - rate * (time - times[first]) for first in range(len(times)) for number, time in enumerate(times[first:])), default=0)
        if most > burst + slots + 1:
            yield f"rate: {most:.0f} more of {what} started than {rate}/s with a burst of {burst} allows"

    def keys(self):
        for queue, limits in self.world.limits.items():
            for key in {line["limitKey"] for line in self.lines.values() if "limitKey" in line}:
                ids = {id for id, line in self.lines.items() if line.get("limitKey") == key and line["queue"] == queue and id in self.ends}
                if "key.concurrency" in limits and ids:
                    overlaps(self.place, ids, limits["key.concurrency"])
                if "key.rate" in limits:
                    yield from self.rate(f"{queue} {key}", ids, limits["key.rate"], limits["key.burst"])
        for queue in self.world.queues:
            for key in {line["unique"] for line in self.lines.values() if "unique" in line}:
                ids = {id for id, line in self.lines.items() if line.get("unique") == key and line["queue"] == queue and id in self.ends}
                if ids:
                    overlaps(self.place, ids, 1)

    def needs(self):
        """Yields operations that began before their dependencies ended.

        Checks nothing if an operator may have released an operation or run one again.
        """
        if any(self.world.has(feature) for feature in ("holds", "needs-changes", "reruns", "tree-reruns", "group-changes", "removals")):
            return
        for id, line in self.lines.items():
            if id not in self.starts or id in self.play.let_go:
                continue
            begun = min(start.time for start in self.starts[id])
            for text, policy in line["needs"]:
                other = self.play.ids.get(text)
                record = self.records.get(other)
                if record is None:
                    continue
                if record["state"] == "finished" and not any(end.time <= begun for end in self.ends.get(other, [])) and other in self.starts:
                    yield f"order: {line['text']} has begun before {text} had ended"
                if record["endedAt"] is None or seconds(record["endedAt"]) > begun + 0.005:
                    yield f"order: {line['text']} has begun, and {text} is {record['state']} since {record['endedAt']}"
                if policy == "cancel" and record["state"] != "finished":
                    yield f"order: {line['text']} has begun, and {text} is {record['state']}"

    def expired(self):
        for id, line in self.lines.items():
            record = self.records.get(id)
            if record and record["state"] == "expired" and record["attempt"] == 0 and record["delivery"] <= 1 and id in self.starts:
                yield f"expired: {line['text']} has expired, and has started"

    def permissions(self):
        return self.place.refused_permissions()

    def nothing_is_left(self):
        """Yields the queues that still count operations that have not ended."""
        for queue in self.world.queues:
            if left := self.play.live_counts(queue):
                yield f"left: {queue} counts {left}"
