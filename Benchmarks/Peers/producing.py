"""What the producers in Python share: their command line, which sidekiq_peer.rb describes, and how pick-up is measured."""
import os
import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import redis

THREADS = 64
SOCKET = os.environ["PEER_SOCKET"]
TEXT = "x" * 60
server = redis.Redis(unix_socket_path=SOCKET)


def note_wait(begun):
    """The body of the job that tells how long it waited."""
    server.rpush("waited", time.monotonic_ns() - begun)


def become_idle():
    """Long enough for the worker to be idle again, and never in step with it."""
    time.sleep(random.uniform(0.002, 0.005))


def seconds(work, count):
    begun = time.monotonic()
    work(count)
    return time.monotonic() - begun


def pick_up(enqueue, count):
    for _ in range(count):
        become_idle()
        become_idle()
        enqueue(time.monotonic_ns())
        # The producer is silent while the job is on its way.
        become_idle()
        print(int(server.blpop("waited")[1]) / 1e6, flush=True)


def main(fill, single, enqueue_stamp):
    def together(count):
        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(single, [count // THREADS] * THREADS))

    what, count = sys.argv[1], int(sys.argv[2])
    if what == "pick-up":
        pick_up(enqueue_stamp, count)
    else:
        print(seconds({"fill": fill, "single": single, "together": together}[what], count))
