"""The page docs/performance.md: results and their meaning, from `Benchmarks/bench` and `Benchmarks/compare`."""
import pathlib
import textwrap

import peers
import plots

NOTES = "decisions/0023-what-bounds-the-figures.md"
# Reasons why a budget may be missed. A missed budget without a line here is listed without a reason.
REASONS = {
    "one by one, awaited": "The budget leaves the enqueue script less time than its commands take.",
    "pick-up by an idle worker": "Redis and the worker are cold after a pause.",
    "no-op, tracked, with limit keys": "The sets of each key are kept one operation at a time (decision 29).",
    "1 → 10000 → 1 over two": "Each end also goes through an outbox, and a relay takes two calls to carry a hundred (decision 32).",
    "1 →": "Each edge is stored on both sides, and each end is written there (decision 31).",
    "chain of": "A link waits for a completion that claims the next one, as in a serial queue, and is resolved in it.",
    "scripts over 5 ms while that many fall due": "In most runs the machine explains only some of these calls.",
}


class Missing(Exception):
    """A result that this run did not measure."""


class Figures:
    """Measured results by name and parameters."""

    def __init__(self, measured):
        self.machine = next(each["machine"] for each in measured if "machine" in each)
        self.items = [each for each in measured if "group" in each]
        self.local = {each["local"]["name"]: each["local"] for each in measured if "local" in each}

    def all(self, name, **parameters):
        found = [each for each in self.items if each["name"] == name and parameters.items() <= each["parameters"].items()]
        if not found:
            raise Missing
        return found

    def item(self, name, **parameters):
        """Returns the last item: a case with a budget is measured after those that only show a trend."""
        return self.all(name, **parameters)[-1]

    def value(self, name, **parameters):
        return self.item(name, **parameters)["value"]

    def ratio(self, name, **parameters):
        return self.item(name, **parameters)["ratio"]

    def best(self, name):
        return max(each["value"] for each in self.all(name))

    def queue(self, name):
        if name not in self.local:
            raise Missing
        return self.local[name]


def number(value):
    if value == int(value):
        return f"{value:,.0f}"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2g}"


def rate(value):
    """Returns a rate with three digits, because more would not be reproducible."""
    step = 10 ** max(0, len(f"{value:.0f}") - 3)
    return f"{round(value / step) * step:,}/s"


def with_unit(value, unit):
    return rate(value) if unit == "1/s" else f"{number(value)} {unit}".strip()


def wrapped(text, indent=""):
    return textwrap.fill(
        " ".join(text.split()), 100, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    ).splitlines()


def measured_only(makers):
    """Yields the results of the makers whose figures were measured."""
    for make in makers:
        try:
            yield make()
        except Missing:
            pass


def table(header, rows):
    rows = list(measured_only(rows))
    if not rows:
        return []
    return [f"| {' | '.join(header)} |", "|---" + "|---:" * (len(header) - 1) + "|", *(f"| {' | '.join(row)} |" for row in rows)]


def meanings(f):
    """Returns what a user can rely on, one sentence each."""
    return [
        lambda: f"""**One enqueue that is awaited takes {number(1000 / f.value('one by one, awaited, tracked'))} ms**;
        a bare PING takes {number(1000 / f.value('PING one by one'))} ms. To enqueue much, enqueue in bulk or from many tasks:
        their operations share calls to Redis.""",
        lambda: f"""**One worker process runs {rate(f.best('no-op, tracked'))} tracked or {rate(f.best('no-op, untracked'))}
        untracked operations that do nothing.** So Sluice adds {number(1e6 / f.best('no-op, tracked'))} µs to a tracked operation
        and {number(1e6 / f.best('no-op, untracked'))} µs to an untracked one. Use untracked operations where you need no
        result.""",
        lambda: f"""**An idle worker starts a new operation after
        {number(f.value('pick-up by an idle worker', percentile=50))} ms**, and 99 of 100 within
        {number(f.value('pick-up by an idle worker', percentile=99))} ms.""",
        lambda: f"""**A running operation is notified of its cancel after
        {number(f.value('cancel of a running operation', percentile=50))} ms.** If the message is lost, the next heartbeat brings
        it: {number(f.value('cancel of a running operation, pub/sub cut', percentile=100) / 1000)} s at most here.""",
        lambda: f"""**A full queue is hardly slower than an empty one.** With a million untracked operations pending, claim and
        completion take {f.ratio('claim and completion of 500, untracked, server time', pending=1_000_000):.2f} × the time that
        they take with 1,000; tracked ones {f.ratio('claim and completion of 250, tracked, server time', pending=1_000_000):.2f} ×.
        A million untracked operations need {number(f.value('a pending untracked operation over name and arguments'))} MB of
        memory, tracked ones {number(f.value('a pending tracked operation over name and arguments'))} MB, plus name and arguments.""",
        lambda: f"""**Few queues are faster than many.** One worker drains {rate(f.value('drain of untracked no-ops, one worker', queues=1))}
        from one queue and {rate(f.value('drain of untracked no-ops, one worker', queues=100))} from a hundred, since a claim serves one queue.""",
        lambda: f"""**A Redis 5 ms away (there and back) costs little throughput**: a worker keeps
        {f.ratio('drain of untracked no-ops, 1,000 slots', **{'milliseconds each way': 2.5}):.0%} of it, because several calls are under way.""",
        lambda: f"""**An append-only file** (`appendfsync everysec`) leaves
        {f.ratio('bulk enqueue, tracked, appendfsync everysec'):.0%} of the bulk enqueue and
        {f.ratio('drain of no-ops, tracked, appendfsync everysec'):.0%} of the drain of tracked operations.""",
        lambda: f"""**An idle worker costs next to nothing**: {number(f.value('commands a minute, one queue'))} commands a minute,
        {number(f.value('processor'))} % of a processor and {number(f.value('resident'))} MiB.""",
    ]


def kinds(f):
    """Returns one row for each kind of work, with a figure for tracked and one for untracked operations."""
    def both(title, make):
        return lambda: (title, make("tracked"), make("untracked"))

    def latency(title, name):
        return lambda: (title, *(with_unit(f.value(name, percentile=each), "ms") for each in (50, 99)))

    work = table(
        ("throughput", "tracked", "untracked"),
        [
            both("enqueue one by one, awaited", lambda kind: rate(f.value(f"one by one, awaited, {kind}"))),
            both("enqueue a `Codable` type from 64 tasks", lambda kind: rate(f.value(f"a type from 64 tasks, one each, {kind}"))),
            both("enqueue a `Codable` type in bulk", lambda kind: rate(f.value(f"a type in bulk, {kind}"))),
            both("enqueue bytes in bulk", lambda kind: rate(f.value(f"bulk, {kind}"))),
            both("run a `Codable` type that does nothing, best setting", lambda kind: rate(f.best(f"a type that does nothing, {kind}"))),
            both("run bytes that do nothing, best setting", lambda kind: rate(f.best(f"no-op, {kind}"))),
            both("… with one slot", lambda kind: rate(f.value(f"no-op, {kind}", processes=1, slots=1))),
            both("Redis commands for one that is run", lambda kind: number(f.value(f"no-op, {kind}, commands per operation, inside scripts too"))),
            both("Redis' own time for one that is run", lambda kind: with_unit(f.value(f"no-op, {kind}, script time per operation"), "µs")),
        ],
    )
    waits = table(
        ("latency", "half are within", "99 of 100 within"),
        [
            latency("PING after a pause", "PING after a pause"),
            latency("pick-up by an idle worker", "pick-up by an idle worker"),
            latency("enqueue, run and await the result", "enqueue, run and await the result"),
            latency("start of a scheduled operation after its time", "start of a scheduled operation after its time"),
            latency("cancel of a waiting operation", "cancel of a waiting operation"),
            latency("cancel of a running operation", "cancel of a running operation"),
        ],
    )
    return [*work, "", *waits] if work and waits else work + waits


def local_queue(f):
    def row(name):
        def make():
            item = f.queue(name)
            theirs, faster = item["foundationNanosecondsPerOperation"], item["timesFaster"]
            return name, f"{item['nanosecondsPerOperation']:,.0f} ns", f"{theirs:,.0f} ns", f"{faster:.1f}"
        return make

    def memory():
        ours, theirs = (f.queue(f"memory, {each}")["bytesPerWaitingOperation"] for each in ("Sluice", "Foundation"))
        return "memory of one that waits", f"{ours:.0f} B", f"{theirs:.0f} B", f"{theirs / ours:.1f}"

    rows = [row(each) for each in ("add and run, 1 at once", "add and run, 64 at once", "five priorities mixed, 2 at once", "chain")]
    return table(("time of an empty operation", "Sluice", "Foundation", "times better"), [*rows, memory])


def flow(f):
    """Returns the costs of limits, keys and dependencies."""
    def row(each):
        share = f"{each['ratio']:.2f} × {each['reference']['name']}"
        time = next((other for other in f.items if other["name"] == f"{each['name']}, script time per operation"), None)
        served = f"{number(time['value'])} µs ({number(time['reference']['value'])} µs)" if time else ""
        return each["name"].replace("no-op, tracked, with", "no-ops with"), rate(each["value"]), share, served

    rows = [lambda each=each: row(each) for each in f.items if each["group"] == "flow" and each["unit"] == "1/s"]
    return table(("drain", "", "share", "Redis' own time for one (plain)"), rows)


def budgets(f):
    """Returns how many budgets were met, and each that was not."""
    judged = [each for each in f.items if "met" in each]
    missed = [each for each in judged if not each["met"]]
    lines = wrapped(
        f"`sluice-bench` judges {len(judged)} figures by a budget; this run met {len(judged) - len(missed)}. "
        f"[What bounds the figures]({NOTES}) explains the others and lists what was tried."
    )
    slower = next((each["value"] for each in f.items if each["name"].startswith("speed")), 1)
    if slower < 1:
        lines += ["", *wrapped(f"Budgets in operations a second are in proportion to this machine's speed, {slower:.2f} × that for which they were set.")]
    if not missed:
        return lines
    rows = []
    for each in missed:
        parameters = "".join(f", {name} {value:,.10g}" for name, value in each["parameters"].items())
        budget = ", ".join(each["budgets"])
        figure = f"{each['ratio']:.2f} ×" if "×" in budget and "ratio" in each else with_unit(each["value"], each["unit"])
        if "×" in budget:
            budget += f" {each['reference']['name'].split(' in turns')[0]}"
        else:
            budget += f" {each['unit']}".rstrip() if each["unit"] != "1/s" else "/s"
        reason = next((text for start, text in REASONS.items() if each["name"].startswith(start)), "")
        rows.append(f"| {each['name']}{parameters} | {figure} | {budget} | {reason} |")
    return [*lines, "", "| not met | measured | budget | why |", "|---|---:|---|---|", *rows]


def section(title, *paragraphs):
    """Returns a heading and its paragraphs, or nothing if all paragraphs are empty."""
    paragraphs = [each for each in paragraphs if each]
    if not paragraphs:
        return []
    lines = ["", f"## {title}"]
    for each in paragraphs:
        lines += ["", *each]
    return lines


def page(measured, docs):
    """Returns the lines of the page and writes its plots."""
    f = Figures(measured)
    drawn = [each for group in plots.draw(f.items, docs / "plots").values() for each in group]
    about = f.machine
    lines = ["# Performance", ""]
    lines += wrapped(
        "`Benchmarks/bench --report` writes this page from `docs/performance.jsonl`, and `Benchmarks/compare --report` from "
        "`docs/peers.jsonl`, which have every figure. Do not edit it."
    )
    lines += [""] + wrapped(
        f"**Machine:** {about['cores']} × {about['processor']}, {about['system']}, Redis {about['redis']} on a unix socket. Redis, producer "
        f"and workers share the processors; {about['busyProcesses']} other processes were busy at the start. Operations have 90 bytes of "
        "name and arguments."
    )
    lines += [""] + wrapped(
        "**How to read it:** a tracked operation keeps a record with its state, result and errors; an untracked one leaves nothing behind. "
        "The speed of such a machine changes by a factor of two within minutes. Compare figures of one table, not of two runs."
    )
    bullets = [line for text in measured_only(meanings(f)) for line in wrapped(f"- {text}", "  ")]
    lines += section("What the figures mean", bullets)
    pictures = "Plots: " + ", ".join(f"[{caption.split(' (')[0].lower()}](plots/{name})" for name, caption in drawn) + "."
    lines += section("Throughput and latency", kinds(f), wrapped(pictures) if drawn else [])
    if (compared := docs / "peers.jsonl").exists():
        lines += peers.section(compared, docs / "plots", wrapped)
    about_flow = wrapped(
        "Whole drains by one worker with 500 slots, each right after a drain of as many plain tracked operations; the median of seven such pairs, in a run of their own. A "
        "chain and a serial queue run one operation at a time, so PING is beside them."
    )
    lines += section("Limits, keys and dependencies", flow(f), about_flow if flow(f) else [])
    lines += section(
        "The local queue next to Foundation's `OperationQueue`",
        local_queue(f),
        wrapped("Both queues run the same empty operations, interleaved, in one process (`QueueBenchmark`).") if f.local else [],
    )
    lines += section("Budgets", budgets(f))
    return lines


def write(measured, docs: pathlib.Path):
    (docs / "performance.md").write_text("\n".join(page(measured, docs)) + "\n")
