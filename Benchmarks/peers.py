"""The section of docs/performance.md with the results of `Benchmarks/compare`, and its plot."""
import json
import statistics
from xml.sax.saxutils import escape

# Name, unit, and whether more is better
ROWS = {
    "one by one": ("enqueue, one by one, awaited", "/s", True),
    "from 64": ("enqueue, 64 tasks or threads, one each", "/s", True),
    "bulk": ("bulk enqueue", "/s", True),
    "drain": ("drain of no-ops", "/s", True),
    "pick-up 50": ("pick-up by an idle worker, half within", " ms", False),
    "pick-up 99": ("pick-up by an idle worker, 99 of 100 within", " ms", False),
    "bytes": ("Redis' memory for a waiting operation", " B", False),
    "commands": ("Redis commands for an operation, inside scripts too", "", False),
}
OURS = ("Sluice, tracked", "Sluice, untracked")
WIDTH, BAR, LEFT, TOP = 760, 22, 130, 40


def section(path, folder, wrapped):
    """Returns the lines of the section and writes its plot. `wrapped` breaks a paragraph into lines."""
    about, *measured = map(json.loads, path.read_text().splitlines())
    figures = {}
    for line in measured:
        figures.setdefault(line["queue"], {})[line["what"]] = line
    rounds = max(len(each["rounds"]) for queue in figures.values() for each in queue.values())
    caption = "Drain of no-ops, operations a second"
    (folder / "peers.svg").write_text(_bars(caption, {queue: statistics.median(each["drain"]["rounds"]) for queue, each in figures.items()}))
    method = (
        f"`Benchmarks/compare --report`, on {about['machine']['cores']} × {about['machine']['processor']}: each queue has a redis-server "
        f"{about['machine']['redis']} of its own; the median of {rounds} rounds, one queue after the other. The others are Debian's, "
        "without log lines and results. For each, the fastest of a few worker settings counts. Sluice runs operations of a `Codable` "
        "type. *Times better* compares with the best of the others."
    )
    return ["", "## Next to other queues", "", *wrapped(method), "", *_table(figures)]


def _table(figures):
    queues = list(figures)
    yield "| what | " + " | ".join(queues) + " | times better, tracked | untracked |"
    yield "|---|" + "---:|" * (len(queues) + 2)
    for what, (text, unit, more_is_better) in ROWS.items():
        middle = {queue: statistics.median(each[what]["rounds"]) for queue, each in figures.items() if what in each}
        others = [value for queue, value in middle.items() if queue not in OURS]
        best = max(others) if more_is_better else min(others)
        times = [
            "" if queue not in middle else _number(middle[queue] / best if more_is_better else best / middle[queue])
            for queue in OURS
        ]
        cells = [_cell(figures[queue].get(what, {}).get("rounds"), unit) for queue in queues]
        yield f"| {text} | " + " | ".join(cells + times) + " |"


def _cell(rounds, unit):
    return f"{_number(statistics.median(rounds))}{unit}" if rounds else ""


def _number(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}" if value < 10 else f"{value:.1f}"


def _bars(title, values):
    height = TOP + BAR * len(values) + 20
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="11">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="20" font-size="13">{escape(title)}</text>',
    ]
    for index, (name, value) in enumerate(values.items()):
        y, length = TOP + BAR * index, max(1, value / max(values.values()) * (WIDTH - LEFT - 90))
        color = "#1f77b4" if name in OURS else "#9a9a9a"
        out.append(f'<text x="{LEFT - 8}" y="{y + 13}" text-anchor="end">{escape(name)}</text>')
        out.append(f'<rect x="{LEFT}" y="{y}" width="{length:.1f}" height="{BAR - 6}" fill="{color}"/>')
        out.append(f'<text x="{LEFT + length + 6:.1f}" y="{y + 13}">{_number(value)}</text>')
    return "\n".join(out) + "\n</svg>\n"
