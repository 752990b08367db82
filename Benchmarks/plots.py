"""Draws measurements as SVG without a library, so the report only needs Python."""
import math
from xml.sax.saxutils import escape

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 640, 320, 78, 52, 40, 150
COLORS = ["#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#8c564b", "#e377c2"]


def draw(items, folder):
    """Writes the plots that have figures. Returns file names and captions by group."""
    folder.mkdir(exist_ok=True)
    drawn = {}
    for group, name, caption, lines, x, y in _plots(items):
        if sum(len(points) for points in lines.values()) < 2:
            continue
        (folder / name).write_text(_chart(caption, lines, x, y))
        drawn.setdefault(group, []).append((name, caption))
    return drawn


def _plots(items):
    def series(group, name, parameter, **fixed):
        return sorted(
            (each["parameters"][parameter], each["value"])
            for each in items
            if each["group"] == group and each["name"] == name and parameter in each["parameters"]
            and all(each["parameters"].get(key) == value for key, value in fixed.items())
        )

    yield (
        "drain", "drain.svg", "No-ops a second by slots, one worker process",
        {kind: series("drain", f"no-op, {kind}", "slots", processes=1) for kind in ("untracked", "tracked")},
        "slots", "operations a second",
    )
    names = sorted({each["name"] for each in items if each["group"] == "latency"})
    # Half of all samples are slower than p50, 0.1 % slower than p99.9. The axis stretches the tail.
    ranks = {50: 2, 99: 100, 99.9: 1000, 100: 10000}
    yield (
        "latency", "latency.svg", "Latency by percentile (2 = p50, 100 = p99, 1,000 = p99.9, 10,000 = longest)",
        {name: [(ranks[p], v) for p, v in series("latency", name, "percentile") if p in ranks] for name in names},
        "one of so many is slower", "milliseconds",
    )
    # Measurements of different minutes differ by more than growth. Ratios were measured interleaved, so each line is
    # drawn from the same start.
    growth = {}
    for each in items:
        if each["name"].endswith(", server time"):
            line = growth.setdefault(each["name"].removesuffix(", server time"), [])
            line.append((each["parameters"]["pending"], each["value"] if not line else each["ratio"] * line[0][1]))
    yield (
        "growth", "growth.svg", "Server time by pending operations, all at the speed of the first comparison",
        growth, "pending operations", "microseconds",
    )


def _ticks(low, high):
    return [10.0**power for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]


def _label(tick):
    return f"{tick:,.0f}" if tick >= 1 else f"{tick:g}"


def _chart(title, lines, x_name, y_name):
    points = [point for each in lines.values() for point in each]
    xs, ys = [max(p[0], 1e-3) for p in points], [max(p[1], 1e-3) for p in points]
    x_ticks, y_ticks = _ticks(min(xs), max(xs)), _ticks(min(ys), max(ys))

    def place(value, ticks, start, length):
        low, high = math.log10(ticks[0]), math.log10(ticks[-1])
        return start + (math.log10(max(value, 1e-3)) - low) / max(high - low, 1e-9) * length

    def at(point):
        return (
            place(point[0], x_ticks, LEFT, WIDTH - LEFT - RIGHT),
            place(point[1], y_ticks, HEIGHT - BOTTOM, -(HEIGHT - BOTTOM - TOP)),
        )

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH + 120} {HEIGHT}" font-family="sans-serif" font-size="11">',
        f'<rect width="{WIDTH + 120}" height="{HEIGHT}" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="20" font-size="13">{escape(title)}</text>',
    ]
    for tick in x_ticks:
        x, _ = at((tick, y_ticks[0]))
        out.append(f'<path d="M{x:.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#e4e4e4"/>')
        out.append(f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{_label(tick)}</text>')
    for tick in y_ticks:
        _, y = at((x_ticks[0], tick))
        out.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="#e4e4e4"/>')
        out.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{_label(tick)}</text>')
    out.append(f'<text x="{LEFT}" y="{HEIGHT - 12}">{escape(x_name)} (logarithmic)</text>')
    out.append(f'<text x="14" y="{HEIGHT - BOTTOM}" transform="rotate(-90 14 {HEIGHT - BOTTOM})">{escape(y_name)} (logarithmic)</text>')
    for index, (name, each) in enumerate((n, e) for n, e in lines.items() if e):
        color = COLORS[index % len(COLORS)]
        spots = [at(point) for point in each]
        out.append(f'<polyline fill="none" stroke="{color}" stroke-width="1.6" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in spots)}"/>')
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.6" fill="{color}"/>' for x, y in spots]
        out.append(f'<text x="{WIDTH - RIGHT + 10}" y="{TOP + 14 + 16 * index}" fill="{color}">{escape(name)}</text>')
    return "\n".join(out) + "\n</svg>\n"
