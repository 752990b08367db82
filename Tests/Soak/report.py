"""Writes the part of docs/reliability.md about random worlds."""
import itertools
import os
import subprocess

import reliability
from features import ALL
from make import chosen

COUNTS = ("operations", "starts", "faults", "commands", "explanations")


def write(path, how, outcomes, root):
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=root, capture_output=True, text=True).stdout.strip()
    pairs = pair_counts(outcomes)
    lines = [
        "",
        f"Written by `{how}` (commit {commit}, {os.cpu_count()} processors).",
        "",
        f"`scripts/soak --seed N` plays the world of a seed, in about a minute: 2 to 5 queues, 240 operations and some of {len(ALL)} features, which are",
        "settings, changes by people, and faults. Twice it storms and calms down; then whatever holds something up is taken back, and everything has to end.",
        "It is judged by what ran (a ledger), by `doctor --deep` in each calm and at the end, and by `explain`: what may start has started two heartbeats",
        "later, a queue that waits for itself goes on, and what is read behind a change is not older than it.",
        "",
        "A world that fails is made smaller by itself: features and operations are taken away as long as it still fails. What is left is printed as commands of",
        "`sluice`. `--stop --keep FOLDER` ends at the first finding and keeps the files of Redis, the ledger and the logs of workers.",
        "",
        f"A pair of features was in {min(pairs)} to {max(pairs)} of these worlds (`scripts/soak --pairs`).",
        "",
        "| worlds | number | failed | " + " | ".join(COUNTS) + " |",
        "|---|---:|---:|" + "---:|" * len(COUNTS),
    ]
    for name, is_meant in (("on one server", False), ("on a cluster", True)):
        some = [outcome for seed, outcome in outcomes if ("cluster" in chosen(seed)) is is_meant]
        lines.append(row(name, some))
    lines.append(row("**all**", [outcome for _, outcome in outcomes]))
    reliability.write(path, worlds="\n".join(lines) + "\n")


def row(name, outcomes):
    counts = [sum(outcome["counts"].get(each, 0) for outcome in outcomes) for each in COUNTS]
    failed = sum(bool(outcome["findings"]) for outcome in outcomes)
    return "| " + " | ".join(map(str, [name, len(outcomes), failed, *counts])) + " |"


def pair_counts(outcomes):
    counts = dict.fromkeys(itertools.combinations(ALL, 2), 0)
    for seed, _ in outcomes:
        for pair in itertools.combinations(chosen(seed), 2):
            counts[pair] += 1
    return list(counts.values())
