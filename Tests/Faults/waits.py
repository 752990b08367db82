"""Waits that give up for want of progress, as those of the Swift tests do (Tests/TestSupport/Eventually.swift).

Functions that read a state for a condition call `note`. A wait that gives up names what was noted last, and a change counts as progress.
"""
import threading
import time

# One look counts as a quarter of a second at most, so that a machine on which each look takes seconds waits longer.
LONGEST_LOOK = 0.25
# A wait whose condition reads something that changes by itself, such as a time, gives up after so many limits.
LIMITS = 10
# The longest patience with anything, in seconds. Negative controls have less, because most of what they wait for never comes.
patience = 300
_looks = threading.local()


class TimedOut(Exception):
    pass


def note(text):
    getattr(_looks, "notes", []).append(str(text)[-300:])


def until(condition, what, seconds=300):
    """Waits for a condition that others bring about; returns how long it took."""
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
