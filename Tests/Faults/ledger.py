"""A record of the real runs: each operation appends lines to a file that is independent of Sluice."""
import collections
import dataclasses

from waits import note

# $LEDGER is the file. bash appends a line with one write, so lines never mix.
SCRIPT = """
say() { echo "$SLUICE_OPERATION_ID $1 $SLUICE_ATTEMPT $SLUICE_DELIVERY $SLUICE_FENCE $EPOCHREALTIME" >> "$LEDGER"; }
say start; %s
say end
"""


@dataclasses.dataclass(frozen=True)
class Line:
    id: str
    what: str
    attempt: int
    delivery: int
    fence: int
    time: float


class Ledger:
    def __init__(self, path):
        self.path = path
        path.touch()

    def lines(self):
        found = []
        for text in self.path.read_text().splitlines():
            id, what, attempt, delivery, fence, time = text.split()
            found.append(Line(id, what, int(attempt), int(delivery), int(fence), float(time)))
        note(f"{len(found)} lines in the ledger")
        return found

    def starts(self):
        return [line for line in self.lines() if line.what == "start"]

    def by_id(self, what="start"):
        grouped = collections.defaultdict(list)
        for line in self.lines():
            if line.what == what:
                grouped[line.id].append(line)
        return grouped

    def argv(self, body=":"):
        """Returns the program of an operation that writes a line before and after `body`."""
        return ["env", f"LEDGER={self.path}", "bash", "-c", SCRIPT % body]


def findings(ledger, enqueued, records, may_return=False):
    """Returns the errors of a run: compares the ledger with the enqueued operations and with the records.

    A start is explained by its record: deliveries 1 to the last one, once each, of the attempts 1 to the last one. With
    `may_return`, operations were given back, so a delivery may have started again under another fence.
    """
    wrong = []
    starts = ledger.by_id()
    for id in sorted(set(starts) - set(enqueued)):
        wrong.append(f"invented: {id} ran and was never enqueued")
    for id in enqueued:
        record = records.get(id)
        if record is None:
            wrong.append(f"lost: {id} has no record")
        elif record["state"] not in ("finished", "dead", "cancelled", "expired"):
            wrong.append(f"lost: {id} is {record['state']}")
        elif record["state"] == "finished" and not ledger_ended(ledger, id):
            wrong.append(f"invented end: {id} is finished and never reached its end")
    for id, lines in starts.items():
        fences = [line.fence for line in lines]
        if len(set(fences)) < len(fences):
            wrong.append(f"duplicate: {id} started twice with one fence {fences}")
        runs = [(line.attempt, line.delivery) for line in lines]
        if len(set(runs)) < len(runs) and not may_return:
            wrong.append(f"duplicate: {id} started twice as one delivery {runs}")
        record = records.get(id)
        for line in lines:
            if record and (line.attempt, line.delivery) > (record["attempt"], record["delivery"]):
                wrong.append(f"unexplained: {id} ran as {runs}, the record says {record['attempt']}/{record['delivery']}")
    return wrong


def ledger_ended(ledger, id):
    if getattr(ledger, "_ends_at", None) != ledger.path.stat().st_size:
        ledger._ends = set(ledger.by_id("end"))
        ledger._ends_at = ledger.path.stat().st_size
    return id in ledger._ends
