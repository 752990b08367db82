"""Celery for Benchmarks/compare: `celery -A celery_peer` loads the tasks from this file.

`python3` runs the file as the producer.
"""
from celery import Celery

import producing

app = Celery("peer", broker=f"redis+socket://{producing.SOCKET}")
app.conf.update(task_ignore_result=True, worker_disable_rate_limits=True, broker_pool_limit=producing.THREADS)


@app.task(name="noop")
def noop(number, text):
    pass


@app.task(name="stamp")
def stamp(begun):
    producing.note_wait(begun)


def single(count):
    with app.producer_or_acquire() as producer:
        for number in range(count):
            noop.apply_async((number, producing.TEXT), producer=producer)


if __name__ == "__main__":
    # A group, Celery's call for many tasks, sends them one by one.
    producing.main(single, single, stamp.delay)
