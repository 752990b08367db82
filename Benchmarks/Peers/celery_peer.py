"""Celery for scripts/compare: `celery -A celery_peer` takes the tasks from here, `python3` runs it as the producer."""
from celery import Celery

import producing

app = Celery("peer", broker=f"redis+socket://{producing.SOCKET}")
app.conf.update(task_ignore_result=True, worker_send_task_events=False, broker_connection_retry_on_startup=True)


@app.task(name="noop")
def noop(number, text):
    pass


@app.task(name="stamp")
def stamp(begun):
    producing.note_wait(begun)


def single(count):
    for number in range(count):
        noop.delay(number, producing.TEXT)


if __name__ == "__main__":
    # It has no call for many tasks at once.
    producing.main(single, single, stamp.delay)
