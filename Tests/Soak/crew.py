"""The workers of a world, each restarted when it has ended, and the faults that hit them."""
import contextlib
import os
import signal
import subprocess
import threading
import time

# Exit codes that are no findings: drained, no Redis at the start, stuck, stopped, a wrong setting of Redis, and our own
# signals
EXPECTED = (0, 69, 75, 76, 78, 143, -signal.SIGKILL, -signal.SIGTERM)


class Crew:
    def __init__(self, place, specs):
        self.place, self.specs, self.findings = place, specs, []
        self.processes = [place.start_worker(spec) for spec in specs]
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)
        self.thread.start()

    def close(self):
        self.is_over.set()
        self.thread.join()

    def _watch(self):
        while not self.is_over.wait(0.1):
            for index, process in enumerate(self.processes):
                if process.poll() is None:
                    continue
                if process.returncode not in EXPECTED:
                    self.findings.append(f"worker: {self.specs[index].name} has ended with {process.returncode}")
                self.processes[index] = self.place.start_worker(self.specs[index])

    def strike(self, fault):
        """Injects a fault, and returns when it is over."""
        place, process = self.place, self.processes[fault.worker]
        match fault.kind:
            case "kill":
                self._signal(self._one_of(process, fault.number), signal.SIGKILL)
            case "drain":
                self._signal(process.pid, signal.SIGTERM)
            case "freeze":
                self._signal(process.pid, signal.SIGSTOP)
                time.sleep(fault.seconds)
                self._signal(process.pid, signal.SIGCONT)
            case "restart":
                place.restart(fault.number)
            case "refuse":
                place.refuse(fault.seconds, fault.number)
            case "cut":
                place.cut()
            case "failover":
                place.fail_over_orderly(fault.number)
            case other:
                raise ValueError(other)

    def _one_of(self, process, number):
        """Returns the process, or one of the processes that it has started to work in its place (`--processes`)."""
        if "--processes" not in process.args or number % 2:
            return process.pid
        found = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True).stdout.split()
        return int(found[number // 2 % len(found)]) if found else process.pid

    def _signal(self, pid, number):
        self.place.faults += 1
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
