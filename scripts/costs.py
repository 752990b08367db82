"""Counts the instructions of an operation under callgrind, and fails if they have grown.

usage: scripts/check-costs [BINARY]

Unlike times, instructions hardly depend on the machine and its load. Each case runs with two numbers of operations, and
the difference leaves out the start of the program. The start is a separate case: a whole process that enqueues one
operation.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

# The committed numbers: instructions per operation, or per process, of a debug build for x86_64 with Swift 6.3.
# Measurements varied by up to 7 %, because the number of operations in a call depends on how fast they end. 25 % more
# means that something was added to each operation. If a change is worth its cost, write the new number here and the
# reason into the commit.
MARGIN = 1.25
START = "process that enqueues one"
COMMITTED = {
    "untracked burst drain": 300_000,
    "bulk enqueue": 430_000,
    START: 840_000_000,
}
FEW, MANY = 500, 2000

root = pathlib.Path(__file__).resolve().parent.parent
binary = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else root / ".build/debug/sluice").resolve()
folder = tempfile.TemporaryDirectory(prefix="sluice-costs.")
socket = os.path.join(folder.name, "redis.sock")
url = "unix://" + socket
env = {k: v for k, v in os.environ.items() if k not in ("SLUICE_REDIS_URL", "REDIS_URL")}
env["SLUICE_STATE_DIR"] = folder.name
preload = ""
# Under callgrind everything takes 50 times as long.
PATIENT = ("--connect-timeout", "60s", "--quiet")


def run(*command, under_callgrind=False):
    own = env
    if under_callgrind:
        command = ("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *command)
        own = env | {"LD_PRELOAD": preload}
    done = subprocess.run(command, env=own, capture_output=True, text=True, timeout=1200)
    if done.returncode != 0:
        sys.exit(f"error: {' '.join(map(str, command))} ended with {done.returncode}: {done.stderr[-2000:]}")
    return done


def instructions(*command):
    text = run(*command, under_callgrind=True).stderr
    found = re.search(r"Collected : (\d+)", text)
    if not found:
        sys.exit(f"error: callgrind counted nothing: {text[-2000:]}")
    return int(found[1])


def redis(*words):
    return run("redis-cli", "-s", socket, *words).stdout.strip()


def batch(count):
    path = os.path.join(folder.name, f"{count}.jsonl")
    line = json.dumps({"name": "noop", "args": {"number": 12345, "text": "x" * 60}, "track": False})
    pathlib.Path(path).write_text((line + "\n") * count)
    return path


def measure(count):
    """Returns the instructions of both cases with this number of operations."""
    redis("FLUSHALL")
    enqueued = instructions(binary, "enqueue", "--batch", batch(count), "--redis", url, *PATIENT)
    drained = instructions(binary, "worker", "--burst", "-c", "100", "--redis", url, *PATIENT)
    finished = redis("HGET", "{sluice/default}:totals", "finished")
    if finished != str(count):
        sys.exit(f"error: {finished} operations finished instead of {count}")
    return {"bulk enqueue": enqueued, "untracked burst drain": drained}


# Valgrind changes the mask of sigsuspend in place, and crashes on libdispatch's mask, which is a constant.
SIGSUSPEND = """
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>
int sigsuspend(const sigset_t *mask) {
    sigset_t copy = *mask;
    return (int)syscall(SYS_rt_sigsuspend, &copy, 8);
}
"""


def prepare():
    """Makes a copy of the binary that callgrind can run. Returns the path of the library to preload."""
    global binary
    # Valgrind cannot read Swift's debugging information.
    stripped = os.path.join(folder.name, "sluice")
    run("strip", "--strip-debug", "-o", stripped, binary)
    binary = stripped
    source = pathlib.Path(folder.name, "sigsuspend.c")
    source.write_text(SIGSUSPEND)
    run("clang", "-D_GNU_SOURCE", "-shared", "-fPIC", "-o", source.with_suffix(".so"), source)
    return str(source.with_suffix(".so"))


def main():
    global preload
    preload = prepare()
    server = subprocess.Popen(
        ["redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--dir", folder.name], stdout=subprocess.DEVNULL
    )
    try:
        deadline = time.monotonic() + 180
        while not os.path.exists(socket) and time.monotonic() < deadline:
            time.sleep(0.05)
        few, many = measure(FEW), measure(MANY)
        start = instructions(binary, "enqueue", "noop", "--redis", url, *PATIENT)
    finally:
        server.terminate()
        server.wait()
    failed = False
    for work, committed in COMMITTED.items():
        each = start if work == START else round((many[work] - few[work]) / (MANY - FEW))
        limit = round(committed * MARGIN)
        print(f"{work}: {each} instructions; committed {committed}, at most {limit}")
        failed = failed or each > limit
        if each * MARGIN < committed:
            print(f"{work} is cheaper than committed by more than the margin: commit the new number")
    if failed:
        sys.exit("error: operations have become dearer (see scripts/costs.py)")


main()
