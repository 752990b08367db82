"""A past for the pages of a dashboard: statistics of a month, in the form of docs/wire-format.md."""
import math
import random

MINUTE, HOUR, DAY = 60, 3_600, 86_400
# Positions of the counts
ENQUEUED, BEGAN, FINISHED, DEAD, RETRIED, CANCELLED, WAITED, RAN, WAITS, RUNS = 1, 2, 3, 4, 5, 6, 7, 8, 9, 67
RANGES = 58
# name: attempts an hour by day, median of a run in ms, spread, part that fails
NAMES = {
    "mail": {"SendEmail": (9_000, 120, 2.2, 0.012), "SendReceipt": (2_400, 60, 1.8, 0.002), "Digest": (90, 9_000, 1.6, 0.03)},
    "video": {"Encode": (300, 70_000, 1.9, 0.02), "Thumbnail": (1_500, 900, 1.7, 0.004)},
    "billing": {"Charge": (700, 400, 1.5, 0.006), "Invoice": (350, 1_800, 1.6, 0.001)},
}
# Builds by the hours since each was first seen
BUILDS = {"2026.10.9": 530, "2026.11.1": 300, "2026.11.2": 45, "2026.11.3": 7.1, "2026.11.3-hotfix": 5}
# The hours of which Redis has minutes
HOURS_BY_MINUTE = 24


class History:
    def __init__(self, now):
        self.now, self.random = int(now), random.Random(7)

    def commands(self, namespace="load"):
        """Yields the words of a Redis command for each hash."""
        for queue, names in NAMES.items():
            builds = (word for build, hours in BUILDS.items() for word in (str(round((self.now - hours * HOUR) * 1000)), build))
            yield ["zadd", f"{{{namespace}/{queue}}}:builds", *builds]
            prefix = f"{{{namespace}/{queue}}}:statistics"
            hour, day = self.now // HOUR, self.now // DAY
            for past in range(HOURS_BY_MINUTE - 1, -1, -1):
                minutes = range(60) if past else range(self.now % HOUR // MINUTE)
                rows = {minute: self.sum(names, (hour - past) * HOUR + minute * MINUTE, MINUTE) for minute in minutes}
                yield from self.hash(f"{prefix}:m:{hour - past}", rows)
            for past in range(47, 0, -1):
                start = (hour - past) * HOUR
                yield from self.hash(f"{prefix}:h:{hour - past}", {name: self.counts(name, about, start, HOUR) for name, about in names.items()})
            for past in range(29, 0, -1):
                start = (day - past) * DAY
                yield from self.hash(f"{prefix}:d:{day - past}", {name: self.counts(name, about, start + DAY // 2, DAY) for name, about in names.items()})

    @staticmethod
    def hash(key, rows):
        if rows:
            yield ["hset", key, *(part for field, counts in rows.items() for part in (str(field), packed(counts)))]

    def sum(self, names, start, length):
        total = {}
        for name, about in names.items():
            for position, number in self.counts(name, about, start, length).items():
                total[position] = total.get(position, 0) + number
        # What comes runs ahead of what ends in the morning, and is worked off in the evening.
        total[ENQUEUED] = round(total[BEGAN] * (1 + 0.04 * math.sin(start / DAY * 2 * math.pi)))
        return total

    def counts(self, name, about, start, length):
        """The counts of one name in a span, for a few sampled runs that stand for all."""
        an_hour, median, spread, failing = about
        day = 0.55 - 0.45 * math.cos(start / DAY * 2 * math.pi)
        number = max(1, round(an_hour * length / HOUR * day * self.random.uniform(0.85, 1.15)))
        # A mail server that is slow for two hours
        trouble = name == "SendEmail" and 5 <= (self.now - start) / HOUR < 7
        failed = min(number, round(number * failing * self.random.uniform(0.3, 1.7) * (12 if trouble else 1)))
        dead = failed // 9
        counts = {BEGAN: number, FINISHED: number - failed, DEAD: dead, RETRIED: failed - dead}
        samples = min(number, 40)
        for sample in range(samples):
            weight = number // samples + (sample < number % samples)
            run = median * (6 if trouble else 1) * math.exp(self.random.gauss(0, math.log(spread)))
            wait = 40 * day * (30 if trouble else 1) * math.exp(self.random.gauss(0, 1))
            for first, total, milliseconds in (WAITS, WAITED, wait), (RUNS, RAN, run):
                counts[total] = counts.get(total, 0) + round(milliseconds * 1_000) * weight
                place = first + range_of(milliseconds)
                counts[place] = counts.get(place, 0) + weight
        return counts


def range_of(milliseconds):
    return 0 if milliseconds < 1 else min(RANGES - 1, 1 + int(2 * math.log2(milliseconds)))


def packed(counts):
    """A MessagePack map of unsigned integers, without zeros."""
    counts = {position: number for position, number in counts.items() if number > 0}
    return bytes([0xDE]) + len(counts).to_bytes(2, "big") + b"".join(integer(position) + integer(number) for position, number in counts.items())


def integer(number):
    for sign, size in (0xCC, 1), (0xCD, 2), (0xCE, 4), (0xCF, 8):
        if number < 1 << 8 * size:
            return (bytes([number]) if number < 128 else bytes([sign]) + number.to_bytes(size, "big"))
    raise ValueError(number)
