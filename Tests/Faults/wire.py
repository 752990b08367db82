"""Reads the protocol along on its way through a proxy, to lose the replies of claims and nothing else."""
import collections
import hashlib
import threading
import time


def end_of(data, start=0):
    """Where the message that begins at `start` ends; None = more is needed."""
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
    """The words of a command."""
    found, start = [], message.find(b"\r\n") + 2
    while start < len(message):
        line = message.find(b"\r\n", start)
        length = int(message[start + 1 : line])
        found.append(message[line + 2 : line + 2 + length])
        start = line + 2 + length + 2
    return found


class Claims:
    """Loses every n-th reply of a call that claims, together with its connection. `lost` has what was in them, and when;
    `most_at_once` is how many of these calls were unanswered on one connection."""

    def __init__(self, every):
        self.every, self.count, self.lost, self.most_at_once = every, 0, [], 0
        self.lock = threading.Lock()
        # For each connection, in the order of its calls: is the reply to be lost? None = the call claims nothing.
        self.marks = {}
        # Digest of a script → which of its words has the capacity to claim.
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
        marks.append(self._is_due(call) if name == b"EVALSHA" else None)
        self.most_at_once = max(self.most_at_once, sum(mark is not None for mark in list(marks)))
        return False

    def _learn(self, source):
        place = 6 if b"Hands out ready operations" in source else 7 if b"Ends operations well" in source else None
        if place:
            self.claims[hashlib.sha1(source).hexdigest().encode()] = place

    def _is_due(self, call):
        place = self.claims.get(call[1])
        if place is None or call[place] == b"0":
            return None
        with self.lock:
            self.count += 1
            return self.count % self.every == 0

    def _reply(self, message, marks):
        if not marks or not marks.popleft():
            return False
        self.lost.append((time.time(), message.decode(errors="replace")))
        return True


class _Stream:
    """Cuts bytes into messages. Called with what has arrived; answers with what goes on, and whether the connection ends there."""

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
