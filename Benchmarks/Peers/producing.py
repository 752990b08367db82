"""What the producers in Python share: their command line, which sidekiq_peer.rb describes, and how pick-up is measured."""
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
    """The body of the job that tells how long it waited."""
    server.rpush("waited", time.monotonic_ns() - begun)


def seconds(work, count):
    """A tenth is for connections and what is imported late."""
    work(count // 10)
    begun = time.monotonic()
    work(count)
    return time.monotonic() - begun


def become_idle():
    """Long enough for the worker to be idle again, and never in step with it."""
    time.sleep(random.uniform(0.002, 0.005))


def pick_up(enqueue, count):
    for _ in range(count):
        # As Sluice's does, which measures a PING in between.
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
