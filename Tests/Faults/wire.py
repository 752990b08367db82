"""Parses the protocol in a proxy, to lose only the replies of claims."""
import collections
import hashlib
import threading
import time


def end_of(data, start=0):
    """The end of the message that begins at `start`; None = more bytes are needed."""
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
    """Loses every n-th reply of a call that claims, together with its connection; then it waits for one behind which so many other such calls
    are under way. `lost` has when, and what was in them."""

    def __init__(self, every, behind=0):
        self.every, self.behind, self.count, self.lost = every, behind, 0, []
        self.lock = threading.Lock()
        # For each connection, in the order of its unanswered calls: do they claim?
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
        marks.append(name == b"EVALSHA" and self._claims(call))
        return False

    def _learn(self, source):
        place = 6 if b"Hands out ready operations" in source else 7 if b"Ends operations well" in source else None
        if place:
            self.claims[hashlib.sha1(source).hexdigest().encode()] = place

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
