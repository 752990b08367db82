"""RQ's producer for scripts/compare. Results are not kept: nobody asks for them."""
from rq import Queue

import producing
import rq_jobs

queue = Queue("default", connection=producing.server)


def fill(count):
    for first in range(0, count, 1000):
        queue.enqueue_many(
            Queue.prepare_data(rq_jobs.noop, args=(number, producing.TEXT), result_ttl=0)
            for number in range(first, min(first + 1000, count))
        )


def single(count):
    for number in range(count):
        queue.enqueue(rq_jobs.noop, number, producing.TEXT, result_ttl=0)


producing.main(fill, single, lambda begun: queue.enqueue(rq_jobs.stamp, begun, result_ttl=0))
