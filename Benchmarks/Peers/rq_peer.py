"""RQ's producer for Benchmarks/compare. Jobs keep no results and no description of their arguments."""
from rq import Queue

import producing
import rq_jobs

queue = Queue("default", connection=producing.server)
SETTINGS = {"result_ttl": 0, "description": "noop"}


def fill(count):
    for first in range(0, count, 1000):
        queue.enqueue_many(
            Queue.prepare_data(rq_jobs.noop, args=(number, producing.TEXT), **SETTINGS)
            for number in range(first, min(first + 1000, count))
        )


def single(count):
    for number in range(count):
        queue.enqueue(rq_jobs.noop, number, producing.TEXT, **SETTINGS)


producing.main(fill, single, lambda begun: queue.enqueue(rq_jobs.stamp, begun, **SETTINGS))
