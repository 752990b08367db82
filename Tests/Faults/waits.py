"""Waits that give up without progress, like those of the Swift tests (Tests/TestSupport/Eventually.swift).

Functions that read a state for a condition call `note`. A wait that gives up reports the last notes, and a changed note
counts as progress.
"""
import threading
import time

# A check counts as at most a quarter of a second, so a slow machine, whose checks take seconds, waits longer.
LONGEST_LOOK = 0.25
# A wait with notes that change by themselves, such as a time, gives up after this many limits.
LIMITS = 10
# The longest wait without progress, in seconds. Negative controls use less, because most of their conditions never
# hold.
patience = 300
_looks = threading.local()


class TimedOut(Exception):
    pass


def note(text):
    getattr(_looks, "notes", []).append(str(text)[-300:])


def until(condition, what, seconds=300):
    """Waits until the condition holds, and returns how long it took in seconds."""
    limit = min(seconds, patience)
    begin = last = time.monotonic()
    unchanged, total, seen = 0.0, 0.0, None
    while True:
        _looks.notes = []
        if condition():
            return time.monotonic() - begin
        notes, now = _looks.notes, time.monotonic()
        passed, last = min(now - last, LONGEST_LOOK), now
        total += passed
        unchanged = unchanged + passed if notes == seen else 0.0
        seen = notes
        if unchanged > limit or total > limit * LIMITS:
            found = f"; seen last: {' | '.join(seen)}" if seen else ""
            raise TimedOut(f"{what}: not within {now - begin:.0f} s, no progress for {unchanged:.0f} s{found}")
        time.sleep(0.05)
