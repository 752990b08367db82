"""Parses the Redis protocol in a proxy, so that only replies of claims are lost."""
import collections
import hashlib
import threading
import time


def end_of(data, start=0):
    """Returns the end of the message that begins at `start`, or None if more bytes are needed."""
    line = data.find(b"\r\n", start)
    if line < 0:
        return None
    kind, after = data[start : start + 1], line + 2
    if kind == b"$":
        length = int(data[start + 1 : line])
        end = after if length < 0 else after + length + 2
        return end if end <= len(data) else None
    if kind == b"*":
        for _ in range(int(data[start + 1 : line])):
            after = end_of(data, after)
            if after is None:
                return None
    return after


def words(message):
    """Returns the words of a command."""
    found, start = [], message.find(b"\r\n") + 2
    while start < len(message):
        line = message.find(b"\r\n", start)
        length = int(message[start + 1 : line])
        found.append(message[line + 2 : line + 2 + length])
        start = line + 2 + length + 2
    return found


class Claims:
    """Loses every n-th reply to a call that claims, together with its connection.

    A reply is lost only if at least `behind` later calls of this kind are in flight. `lost` has the time and text of
    each.
    """

    def __init__(self, every, behind=0):
        self.every, self.behind, self.count, self.lost = every, behind, 0, []
        self.lock = threading.Lock()
        # For each connection, in the order of its unanswered calls: whether a call claims
        self.marks = {}
        # From the digest of a script to the index of the word with the capacity to claim
        self.claims = {}

    def stream(self, pair, is_reply):
        return _Stream(self._reply if is_reply else self._request, self._marks(pair))

    def _marks(self, pair):
        with self.lock:
            return self.marks.setdefault(pair, collections.deque())

    def _request(self, message, marks):
        call = words(message)
        name = call[0].upper()
        if name == b"SCRIPT" and call[1].upper() == b"LOAD":
            self._learn(call[2])
        marks.append(name == b"EVALSHA" and self._claims(call))
        return False

    def _learn(self, source):
        place = 6 if b"Hands out ready operations" in source else 7 if b"Finishes operations in a commit batch" in source else None
        if place:
            self.claims[hashlib.sha1(source).hexdigest().encode()] = place

    def check(self):
        """Checks that the scripts that claim were recognized by their first lines."""
        assert set(self.claims.values()) == {6, 7}, f"only {len(set(self.claims.values()))} of 2 scripts that claim were recognized"

    def _claims(self, call):
        place = self.claims.get(call[1])
        return place is not None and call[place] != b"0"

    def _reply(self, message, marks):
        if not marks or not marks.popleft():
            return False
        with self.lock:
            self.count += 1
            if self.count < self.every or sum(list(marks)) < self.behind:
                return False
            self.count = 0
        self.lost.append((time.time(), message.decode(errors="replace")))
        return True


class _Stream:
    """Splits bytes into messages. Takes received bytes; returns bytes to pass on, and whether the connection ends."""

    def __init__(self, judge, marks):
        self.judge, self.marks, self.rest = judge, marks, b""

    def __call__(self, data):
        self.rest += data
        start = 0
        while (end := end_of(self.rest, start)) is not None:
            if self.judge(self.rest[start:end], self.marks):
                return self.rest[:start], True
            start = end
        passed, self.rest = self.rest[:start], self.rest[start:]
        return passed, False
