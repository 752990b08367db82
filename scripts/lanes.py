"""Runs the steps of scripts/test that mostly wait side by side, from a finished debug build.

usage: python3 scripts/lanes.py [--all]
  --all  also what is long, or finds only what is rare; CONTRIBUTING.md says what that is, and how the choice was made

Lanes run at the same time, the steps of a lane one after the other. A step's output goes to .build/test-logs and is printed whole if the
step fails. The other steps go on, and the exit code is 1 at the end. Lanes share nothing: each has a folder for temporary files (and so
for sockets) and a range of ports of its own.
"""
import argparse
import atexit
import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

root = pathlib.Path(__file__).resolve().parent.parent
logs = root / ".build/test-logs"
SLUICE = ".build/debug/sluice"
PROGRESS = 60
stopping = threading.Event()
PORTS, PORTS_OF_A_LANE = 20_000, 2_500

# One case of the fault scenarios, and one of the negative controls, for each run of the tests.
QUICK_FAULT, QUICK_CONTROL = "after-effect", "no-places"
# One random world of all features; scripts/soak plays many, and judges times as well.
QUICK_WORLD = ("--seed", "4", "--operations", "60", "--unbounded", "--no-shrink")
# Worlds of the long run: as many as take a few minutes, on one server and on clusters.
WORLDS = ("--seed", "21", "--seeds", "6", "--side-by-side", "2", "--unbounded", "--no-shrink")
WORLDS_IN_MEMORY = 1000
# Two of the pages whose commands the long run checks
QUICK_PAGES = "docs/unique-keys.md", "docs/deployment.md"
# Fault scenarios that do not test a time. The others need a machine that does nothing else (scripts/faults runs all).
FAULTS = (
    "none,after-effect,reset,swallow,cut,overlap,redis-kill,redis-late,readonly,full,rolling,scripts,threads,stuck,many,processes,"
    "durability,failover,late-replica,evict,clock,serial,limit-keys,key-rate,unique-keys,unique-race,replace,dependencies,relay,"
    "lost-relay,relay-failover,children,groups,schedule"
)
RANDOM_STEPS = 25_000


# A cluster changes only where keys are: which node gets a call, and which calls span several nodes. The suites below do
# not depend on that, and run only without a cluster. A new suite runs in both ways unless it is added here.
NOT_ON_A_CLUSTER = {
    "they start the servers or clusters that they need, in both ways the same": [
        "AbsentNodeTests", "ClusterTests", "SilentServerTests", "RefusedSubscriptionTests", "DurabilityTests", "EmbeddedServerTests",
    ],
    "they are about arguments, output, programs or signals; all that they send are single enqueues": [
        "UsageTests", "OutputFailureTests", "ProgramOptionsTests", "ExecTests", "HandlerTests", "WorkerSignalTests", "FirstProcessTests",
        "KeysTests", "BadInputTests", "HostileTextTests", "UnreadableTests",
    ],
}


class Step:
    def __init__(self, title, *command, **environment):
        self.title, self.command, self.environment = title, [str(word) for word in command], environment
        self.log = logs / (re.sub(r"\W+", "-", title) + ".log")
        self.begin = self.process = self.code = None

    def run(self, shared):
        self.begin = time.monotonic()
        with self.log.open("wb") as log:
            # A separate session, so a signal reaches every process of the step
            self.process = subprocess.Popen(
                self.command, cwd=root, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
                env=os.environ | shared | self.environment
            )
            self.code = self.process.wait()

    def seconds(self):
        return time.monotonic() - self.begin

    def time(self):
        return f"{self.seconds() // 60:.0f} min {self.seconds() % 60:02.0f} s"

    def failures(self):
        """Returns the output lines that name failures, or the last lines.

        The run prints these lines at its end, where even a cut output has them.
        """
        lines = self.log.read_text(errors="replace").splitlines()
        return ([line for line in lines if "✘" in line or "Fatal error" in line] or lines)[-12:]

    def progress(self):
        """Returns how long the step has run, and its last line of output."""
        lines = self.log.read_text(errors="replace").splitlines() or [""]
        return f"{self.title} ({self.time()}): {lines[-1].strip()[:100]}"


# The number of tests of a process that run at once. Without a limit all tests start together and compete for the
# processors. Then even a call to Redis can exceed its deadline of 5 s.
WIDTH = 32


def tests(target, title="", *options, only="", package="sluice", **environment):
    environment = {"SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH": str(WIDTH)} | environment
    command = [f".build/debug/{package}PackageTests.xctest", "--testing-library", "swift-testing", "--filter", rf"^{target}\.{only}"]
    return Step(f"Test {target}{title}", *command, *options, **environment)


def skipping(suites):
    names = [name for each in suites.values() for name in each]
    return [word for name in names for word in ("--skip", rf"[./]{name}\w*/")]


# Each lane runs one target at a time: all tests of a process share two threads, and a waiting test must not queue
# behind a hundred others. Tests of the worker's loops measure times, so the small targets run alone, before the lanes.
LARGE = ("RedisClientTests", "RedisBrokerTests", "IntegrationTests")


def small_targets():
    names = sorted(path.name for path in (root / "Tests").glob("*Tests"))
    return [tests(name) for name in names if name not in LARGE] + examples()


def examples():
    """Returns the tests of the packages in Examples."""
    steps = []
    for manifest in sorted(root.glob("Examples/*/Package.swift")):
        text = manifest.read_text()
        package = re.search(r'Package\(\s*name: "([^"]+)"', text)[1]
        steps += [tests(target, package=package) for target in re.findall(r'\.testTarget\(\s*name: "([^"]+)"', text)]
    return steps


def faults(title, *options):
    return Step(title, "scripts/faults", "--binary", SLUICE, "--unbounded", "--seed", "1", *options)


def lanes():
    """Returns the lanes that check each rule once."""
    return [
        [tests("IntegrationTests")],
        [
            tests("RedisClientTests"),
            tests("RedisBrokerTests"),
            Step("JSON schemas", "scripts/check-schema", SLUICE),
            Step("Commands of two pages", "scripts/check-console", *QUICK_PAGES),
            Step("The overview of the dashboard in Chromium", "scripts/check-pages", "--binary", SLUICE, "--one"),
            faults("One fault", "--only", QUICK_FAULT),
            faults("One negative control", "--mutants", "--only", QUICK_CONTROL),
            Step("One random world", "scripts/soak", "--binary", SLUICE, *QUICK_WORLD),
        ],
    ]


def long_lanes():
    """Returns the lanes with other surroundings, with rare cases, and with proofs that the other steps find errors."""
    return [
        [
            # Each program connects as the user of its role, with the permissions that `sluice config acl` prints. ACL
            # LOG must be empty after each test. In the other steps programs are the default user.
            tests("IntegrationTests", " with minimal permissions", SLUICE_TEST_USERS="1"),
            faults("Faults", "--only", FAULTS),
        ],
        [
            tests(
                "RedisBrokerTests", ": a cluster, another database, long random steps, broken rules",
                only="(ClusterConformance|Database|RandomSteps)Tests",
                SLUICE_STEPS=str(RANDOM_STEPS), SLUICE_TEST_LONG="1"
            ),
            tests("IntegrationTests", " on a Redis Cluster", *skipping(NOT_ON_A_CLUSTER), SLUICE_TEST_TOPOLOGY="cluster"),
            tests("SluiceCLITests", ": many worlds in memory", only="WorldTests", SLUICE_WORLDS=str(WORLDS_IN_MEMORY)),
            faults("Negative controls of the faults", "--mutants"),
            Step("Random worlds", "scripts/soak", "--binary", SLUICE, *WORLDS),
            Step("Commands of README and docs", "scripts/check-console"),
            Step("Negative control of these", "scripts/check-console", "--control", "Tests/Console/wrong.md", "Tests/Console/ends.md"),
            Step("All pages of the dashboard in Chromium", "scripts/check-pages", "--binary", SLUICE),
            Step("Negative control of the pages", "scripts/check-pages", "--control"),
            Step("Instructions of an operation", "scripts/check-costs", SLUICE),
            Step("Formal model", "scripts/model"),
        ],
    ]


def run_lane(number, steps, failed):
    folder = tempfile.mkdtemp(prefix=f"lane{number}.")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    ports = PORTS + number * PORTS_OF_A_LANE
    shared = {"TMPDIR": folder, "SLUICE_TEST_PORTS": f"{ports}-{ports + PORTS_OF_A_LANE - 1}"}
    for step in steps:
        if stopping.is_set():
            return
        step.run(shared)
        report(step, failed)


def report(step, failed):
    if step.code == 0:
        text = f"== {step.title}: {step.time()}\n"
    else:
        failed.append(step.title)
        text = f"\n{step.log.read_text(errors='replace')}\n== {step.title}: FAILED with {step.code} after {step.time()}\n"
    # One call, so lines of two lanes do not mix
    sys.stdout.write(text)
    sys.stdout.flush()


def stop(steps, number):
    """Ends everything that was started and starts nothing else, like Ctrl-C in a terminal."""
    stopping.set()
    for step in steps:
        if step.process and step.code is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(step.process.pid, signal.SIGTERM)
    sys.exit(128 + number)


def run(all_lanes, failed):
    """Runs lanes side by side until all have ended."""
    threads = [
        threading.Thread(target=run_lane, args=(number, lane, failed), daemon=True) for number, lane in enumerate(all_lanes)
    ]
    for thread in threads:
        thread.start()
    reported = time.monotonic()
    while any(thread.is_alive() for thread in threads):
        for thread in threads:
            thread.join(0.5)
        if time.monotonic() - reported >= PROGRESS:
            reported = time.monotonic()
            for step in (step for lane in all_lanes for step in lane):
                if step.begin and step.code is None:
                    print(f"   … {step.progress()}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    logs.mkdir(parents=True, exist_ok=True)
    # Sets of lanes; one set runs after the other
    sets = [[small_targets()], lanes()] + ([long_lanes()] if options.all else [])
    steps = [step for each in sets for lane in each for step in lane]
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: stop(steps, number))
    print(f"\n== {len(steps)} steps; their output is in {logs.relative_to(root)}", flush=True)
    failed = []
    for each in sets:
        run(each, failed)
    unfinished = [step.title for step in steps if step.code is None]
    for step in (step for step in steps if step.code):
        print(f"== {step.title}, what failed:", *step.failures(), sep="\n   ", flush=True)
    if failed or unfinished:
        sys.exit(f"error: failed: {', '.join(failed + unfinished)}")


if __name__ == "__main__":
    main()
