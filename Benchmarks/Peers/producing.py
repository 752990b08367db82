"""Code of all Python producers: the command line (see sidekiq_peer.rb) and the pick-up measurement."""
import os
import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import redis

THREADS = 64
PATIENCE = 60
SOCKET = os.environ["PEER_SOCKET"]
TEXT = "x" * 60
server = redis.Redis(unix_socket_path=SOCKET)


def note_wait(begun):
    """The body of the job that reports how long it waited."""
    server.rpush("waited", time.monotonic_ns() - begun)


def seconds(work, count):
    """Times the work after a tenth of it, untimed, has opened connections and imported modules."""
    work(count // 10)
    begun = time.monotonic()
    work(count)
    return time.monotonic() - begun


def become_idle():
    """Sleeps long enough for the worker to be idle again, and never in step with it."""
    time.sleep(random.uniform(0.002, 0.005))


def pick_up(enqueue, count):
    for _ in range(count):
        # Sluice's measurement has a PING in between as well.
        become_idle()
        server.ping()
        become_idle()
        enqueue(time.monotonic_ns())
        # The producer is silent while the job is on its way.
        become_idle()
        answer = server.blpop("waited", timeout=PATIENCE)
        if not answer:
            sys.exit(f"no worker has run a job for {PATIENCE} s")
        print(int(answer[1]) / 1e6, flush=True)


def main(fill, single, enqueue_stamp):
    def together(count):
        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(single, [count // THREADS] * THREADS))

    what, count = sys.argv[1], int(sys.argv[2])
    if what == "fill":
        fill(count)
    elif what == "pick-up":
        pick_up(enqueue_stamp, count)
    else:
        print(seconds({"bulk": fill, "single": single, "together": together}[what], count))
