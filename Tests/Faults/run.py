"""Runs the fault scenarios; see scripts/faults."""
import argparse
import atexit
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time
import traceback

import reliability
import waits
from cluster import FIXTURE, LEASE
import scenarios  # noqa: F401 (each of these adds its own)
import crowds  # noqa: F401
import limits  # noqa: F401
import nodes  # noqa: F401
import servers  # noqa: F401
from ledger import findings
from registry import SCENARIOS, Skipped, TooSlow, Unproven

# Each mutant breaks one rule (see ScriptMutants.swift) and must make its scenario fail.
MUTANTS = [
    ("no-in-flight", "kill"),
    ("no-fence", "late"),
    ("cancel-by-message-only", "pubsub"),
    ("no-sweeper", "kill"),
    ("no-reconcile", "swallow"),
    ("no-delivery-count", "poison"),
    ("no-places", "serial"),
    ("no-key-places", "limit-keys"),
    ("no-key-rate", "key-rate"),
    ("no-turns", "unique-keys"),
    ("no-outbox", "dependencies"),
    ("no-ask", "lost-relay"),
    ("no-ask", "relay-failover"),
    ("no-run-end", "children"),
    ("no-silence", "groups", 60),
    ("heartbeat-on-pool", "threads"),
    ("no-schedule-takeover", "schedule"),
]

root = pathlib.Path(__file__).resolve().parent.parent.parent


def main():
    parser = argparse.ArgumentParser(prog="scripts/faults", description="Breaks things under real workers and checks that nothing is lost.")
    parser.add_argument("--only", help="scenarios, or with --mutants mutants, separated by commas", action="append", default=[])
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 31))
    parser.add_argument("--seeds", type=int, help="so many runs of each scenario, each with a seed of its own (1; with --long 5)")
    parser.add_argument("--long", action="store_true", help="longer outages, 10,000 operations under 200 kills, half an hour of storm")
    parser.add_argument("--binary", type=pathlib.Path, default=root / ".build/release/sluice")
    parser.add_argument("--report", nargs="?", const=root / "docs/reliability.md", metavar="FILE", help="write docs/reliability.md")
    parser.add_argument("--mutants", action="store_true", help="negative controls (debug build): each must make its scenario fail")
    parser.add_argument("--unbounded", action="store_true", help="do not check bounds of recovery: the machine does other things meanwhile")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    options.seeds = options.seeds or (5 if options.long else 1)
    if options.list:
        for code, scenario in SCENARIOS.items():
            print(f"{code:14} {scenario.what}")
        return 0
    for program in (options.binary, options.binary.with_name(FIXTURE)):
        if not program.exists():
            parser.error(f"{program} does not exist; build it with swift build --product {program.name}, or name another one with --binary")
    options.only = ",".join(options.only)
    known = [mutant for mutant, *_ in MUTANTS] if options.mutants else list(SCENARIOS)
    chosen = options.only.split(",") if options.only else known
    if unknown := [name for name in chosen if name not in known]:
        parser.error(f"no {'mutant' if options.mutants else 'scenario'} {', '.join(unknown)}; known: {', '.join(known)}")
    print(f"seed {options.seed}; lease {LEASE:.0f} s", flush=True)
    if options.mutants:
        return controls([control for control in MUTANTS if control[0] in chosen], options)
    rows = [measure(SCENARIOS[code], options) for code in chosen]
    failed = [row for row in rows if row["findings"]]
    if options.report:
        report([row for row in rows if row["runs"]], options)
    skipped = [row for row in rows if not row["runs"]]
    print(f"{len(rows) - len(failed) - len(skipped)} passed, {len(failed)} failed, {len(skipped)} skipped", flush=True)
    return 1 if failed else 0


def measure(scenario, options):
    row = {"code": scenario.code, "what": scenario.what, "bound": scenario.bound, "runs": 0, "operations": 0, "starts": 0,
           "faults": 0, "recoveries": [], "findings": [], "seconds": 0.0}
    for number in range(options.seeds):
        print(f"{scenario.code:14} {scenario.what} …", end="", flush=True)
        begin = time.monotonic()
        try:
            wrong = steadily(scenario, options, number, row)
        except Skipped as reason:
            print(f" skipped: {reason}", flush=True)
            break
        row["runs"] += 1
        row["seconds"] += time.monotonic() - begin
        row["findings"] += wrong
        print(f" {'FAILED' if wrong else 'ok'} {time.monotonic() - begin:.1f} s{recovery(row)}", flush=True)
        for text in wrong[:10]:
            print(f"    {text}", flush=True)
    return row


def steadily(scenario, options, number, row):
    """Repeats a run that proves nothing: the machine was frozen for seconds, or the fault hit nothing."""
    unproven = None
    for _ in range(3):
        try:
            return once(scenario, options, number, row)
        except TooSlow as reason:
            unproven = reason if isinstance(reason, Unproven) else unproven
            print(f" again: {reason} …", end="", flush=True)
    if unproven:
        return [f"three runs prove nothing: {unproven}"]
    raise Skipped("the machine was too slow in three runs")


def recovery(row):
    return f"; slowest recovery {max(row['recoveries']):.2f} s" if row["recoveries"] else ""


def controls(chosen, options):
    """Tests the harness itself. A mutant whose scenario still passes fails the control."""
    green = []
    for mutant, code, *patience in chosen:
        print(f"{mutant:24} must break {code} …", end="", flush=True)
        row = {"operations": 0, "starts": 0, "faults": 0, "recoveries": []}
        wrong = broken(SCENARIOS[code], options, row, mutant, *patience)
        print(f" {'it does: ' + wrong[0][:90] if wrong else 'IT DOES NOT'}", flush=True)
        if not wrong:
            green.append(mutant)
    print(f"{len(chosen) - len(green)} passed, {len(green)} failed", flush=True)
    return 1 if green else 0


def broken(scenario, options, row, mutant, patience=15):
    """Returns the findings of a run without one rule. Random kills may miss that rule, so up to three runs are tried.
    """
    for number in range(3):
        try:
            wrong = once(scenario, options, number, row, mutant, patience)
            if wrong:
                return wrong
        except Unproven:
            continue
        except TooSlow as reason:
            # A broken rule can look like a frozen machine, so this counts as a finding.
            return [str(reason)]
    return []


def once(scenario, options, number, row, mutant=None, patience=300):
    library = clock_library() if scenario.clock else None
    folder = pathlib.Path(tempfile.mkdtemp(prefix="sluice-faults."))
    waits.patience = 300
    wrong, recoveries = [], []
    under_test = scenario.place(options.binary, folder / "c", *scenario.redis, mutant=mutant, clock=library)
    waits.patience = patience
    under_test.random = random.Random(f"{options.seed} {scenario.code} {number}")
    under_test.is_long = options.long
    under_test.storm_seconds = 360 if options.long else 40
    try:
        recoveries = scenario(under_test) or []
        records = under_test.records()
        row["operations"] += len(under_test.ids)
        row["starts"] += len(under_test.ledger.starts())
        found = findings(under_test.ledger, under_test.ids, records, scenario.may_return)
        wrong += [text for text in found if not scenario.loses or contradicts(text)]
        if scenario.bound and not options.unbounded:
            wrong += [
                f"recovery took {each:.2f} s, bound {scenario.bound:.2f} s (the machine itself was late by {each.delay:.2f} s)"
                for each in recoveries if each > scenario.bound + each.delay
            ]
        wrong += doctor(under_test)
    except TooSlow:
        wrong = []
        raise
    except Exception as error:
        wrong.append("".join(traceback.format_exception_only(error)).strip())
    finally:
        under_test.close()
        if not wrong or mutant:
            shutil.rmtree(folder)
        else:
            wrong.append(f"logs are in {folder}")
    row["recoveries"] += recoveries
    row["faults"] += under_test.faults + under_test.proxy.faults
    return wrong


def contradicts(finding):
    """Returns whether a finding is an error although Redis has forgotten the last second.

    Missing and repeated operations are allowed then.
    """
    return "has no record" not in finding and not finding.startswith(("duplicate", "unexplained"))


def clock_library():
    compiler = shutil.which("cc") or shutil.which("clang")
    if not compiler:
        raise Skipped("there is no C compiler")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="sluice-clock."))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", folder / "clock.so", root / "Tests/Faults/clock.c"], check=True)
    return folder / "clock.so"


def doctor(under_test):
    """Returns the findings of doctor after the workers have gone.

    Only errors of a queue count, because the server may still have the settings of the scenario.
    """
    done = under_test.run("doctor", "--deep", "-o", "json", check=False)
    findings = json.loads(done.stdout)["findings"] if done.returncode in (0, 1) else [{"severity": "error", "queue": "?"}]
    if not [finding for finding in findings if finding["severity"] == "error" and finding["queue"]]:
        return []
    return [f"doctor --deep: exit {done.returncode}: {done.stdout.strip()[:1500]} {done.stderr.strip()[:500]}"]


def report(rows, options):
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=root, capture_output=True, text=True).stdout.strip()
    how = " ".join(["scripts/faults", *(["--long"] if options.long else []), f"--seeds {options.seeds}", f"--seed {options.seed}", "--report"])
    some = f" Only some of the scenarios: {options.only.replace(',', ', ')}." if options.only else ""
    lines = [
        "# Reliability",
        "",
        f"Written by `{how}` (commit {commit}, {os.cpu_count()} processors); nothing here is typed by hand.{some}",
        "",
        "Real workers, a real redis-server, a proxy that misbehaves, real signals. Each operation is a program that appends a line to a file when it",
        "starts and when it ends: that file, not what Sluice says of itself, decides. After each run, once everything has ended, `sluice doctor --deep`",
        "must find nothing.",
        "",
        "- *Faults*: signals, cut or poisoned connections, changed settings, restarts. *Starts* beyond the operations are redeliveries, each recorded.",
        "- *Lost*: not ended, or said to have ended although it did not. *Unexplained*: two starts under one fence or as one delivery, or a start beyond",
        "  what the record tells. *Other*: anything else that a scenario asks for and did not hold.",
        f"- *Recovery*: from the fault (or its end, for outages) until what it hit starts again. The lease was {LEASE:.0f} s here (15 s by default): a dead worker's",
        "  operations are promised within lease + one beat + 1 s. What the machine itself is late meanwhile, measured by starting processes that",
        "  have nothing to do with Sluice, may come on top of a bound.",
        "",
        "| scenario | runs | operations | faults | starts | lost | unexplained | other | recovery p50 / p99 / max | bound |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---|---|",
    ]
    for row in rows:
        lines.append("| " + " | ".join(str(cell) for cell in cells(row)) + " |")
    total = [sum(row[name] for row in rows) for name in ("runs", "operations", "faults", "starts")]
    lost, unexplained, other = (sum(each) for each in zip(*(kinds(row) for row in rows)))
    lines.append("| **all** | " + " | ".join(str(each) for each in [*total, lost, unexplained, other]) + " | | |")
    reliability.write(options.report, scenarios="\n".join(lines) + "\n")


def cells(row):
    times = sorted(row["recoveries"])
    recovery = " / ".join(f"{times[min(len(times) - 1, int(len(times) * part))]:.2f}" for part in (0.5, 0.99, 1)) + " s" if times else ""
    bound = f"{row['bound']:.2f} s" if row["bound"] else ""
    return [row["what"], row["runs"], row["operations"], row["faults"], row["starts"], *kinds(row), recovery, bound]


def kinds(row):
    """Returns the numbers of lost, unexplained and other findings."""
    real = [text for text in row["findings"] if not text.startswith("logs are in")]
    lost = sum(text.startswith(("lost", "invented end")) for text in real)
    unexplained = sum(text.startswith(("duplicate", "unexplained", "invented:")) for text in real)
    return lost, unexplained, len(real) - lost - unexplained


if __name__ == "__main__":
    sys.exit(main())
