"""Measures the delay of the machine: the time to start a process and to connect to Redis, several times a second."""
import subprocess
import threading
import time


class Took(float):
    """A time in seconds, with the delay of the machine during that time, measured without Sluice."""

    delay = 0.0


class Pace:
    INTERVAL = 0.25

    def __init__(self, ask):
        self.ask, self.samples = ask, []
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self._measure, daemon=True)
        self.thread.start()

    def close(self):
        self.is_over.set()
        self.thread.join()

    def delay(self, since, until=None):
        """Returns the longest delay that overlaps this time, including a measurement that is still running."""
        until = time.time() if until is None else until
        return max((end - begin for begin, end in [*self.samples, self.current] if begin <= until and end >= since), default=0.0)

    def took(self, begin, end):
        time_taken = Took(end - begin)
        time_taken.delay = self.delay(begin, end)
        return time_taken

    @property
    def current(self):
        return self._begin, time.time()

    _begin = float("inf")

    def _measure(self):
        due = time.time()
        while not self.is_over.wait(max(0, due - time.time())):
            # Measure from the planned start, because a frozen machine also delays the start.
            self._begin = due
            subprocess.run(["bash", "-c", ":"], check=False)
            self.ask()
            self.samples.append((due, time.time()))
            self._begin = float("inf")
            due = time.time() + self.INTERVAL
