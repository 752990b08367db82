"""Runs the fault scenarios; see scripts/faults."""
import argparse
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time
import traceback

import cluster
from cluster import LEASE
from ledger import findings
from scenarios import SCENARIOS

# Each breaks one rule (see ScriptMutants.swift) and must make this scenario fail.
MUTANTS = {
    "no-in-flight": "kill",
    "no-fence": "late",
    "cancel-by-message-only": "pubsub",
    "no-sweeper": "kill",
    "no-reconcile": "swallow",
    "no-delivery-count": "poison",
}

root = pathlib.Path(__file__).resolve().parent.parent.parent


def main():
    parser = argparse.ArgumentParser(prog="scripts/faults", description="Breaks things under real workers and checks that nothing is lost.")
    parser.add_argument("--only", help="scenarios, separated by commas", default="")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 31))
    parser.add_argument("--long", action="store_true", help="each scenario five times, half an hour of storm")
    parser.add_argument("--binary", default=root / ".build/release/sluice")
    parser.add_argument("--report", action="store_true", help="write docs/reliability.md")
    parser.add_argument("--mutants", action="store_true", help="negative controls (debug build): each must make its scenario fail")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    if options.list:
        for code, scenario in SCENARIOS.items():
            print(f"{code:14} {scenario.what}")
        return 0
    chosen = options.only.split(",") if options.only else list(SCENARIOS)
    if unknown := [code for code in chosen if code not in SCENARIOS]:
        parser.error(f"no scenario {', '.join(unknown)}; --list names them")
    print(f"seed {options.seed}; lease {LEASE:.0f} s", flush=True)
    if options.mutants:
        return controls(options)
    rows = [measure(SCENARIOS[code], options) for code in chosen]
    failed = [row for row in rows if row["findings"]]
    if options.report and not failed and not options.only:
        report(rows, options)
    print(f"{len(rows) - len(failed)} passed, {len(failed)} failed", flush=True)
    return 1 if failed else 0


def measure(scenario, options):
    row = {"code": scenario.code, "what": scenario.what, "bound": scenario.bound, "runs": 0, "operations": 0, "starts": 0,
           "recoveries": [], "findings": [], "seconds": 0.0}
    for number in range(5 if options.long else 1):
        print(f"{scenario.code:14} {scenario.what} …", end="", flush=True)
        begin = time.monotonic()
        wrong = once(scenario, options, number, row)
        row["runs"] += 1
        row["seconds"] += time.monotonic() - begin
        row["findings"] += wrong
        print(f" {'FAILED' if wrong else 'ok'} {time.monotonic() - begin:.1f} s", flush=True)
        for text in wrong[:10]:
            print(f"    {text}", flush=True)
    return row


def controls(options):
    """The harness itself under test. A control that stays green proves nothing, and fails."""
    cluster.patience = 15
    green = []
    for mutant, code in MUTANTS.items():
        print(f"{mutant:24} must break {code} …", end="", flush=True)
        row = {"operations": 0, "starts": 0, "recoveries": []}
        wrong = once(SCENARIOS[code], options, 0, row, mutant)
        print(f" {'it does: ' + wrong[0][:90] if wrong else 'IT DOES NOT'}", flush=True)
        if not wrong:
            green.append(mutant)
    print(f"{len(MUTANTS) - len(green)} passed, {len(green)} failed", flush=True)
    return 1 if green else 0


def once(scenario, options, number, row, mutant=None):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="sluice-faults."))
    wrong, recoveries = [], []
    under_test = cluster.Cluster(options.binary, folder / "c", *scenario.redis, mutant=mutant)
    under_test.random = random.Random(f"{options.seed} {scenario.code} {number}")
    under_test.storm_seconds = 360 if options.long else 40
    try:
        recoveries = scenario(under_test) or []
        records = under_test.records()
        row["operations"] += len(under_test.ids)
        row["starts"] += len(under_test.ledger.starts())
        wrong += findings(under_test.ledger, under_test.ids, records, scenario.may_return)
        if scenario.bound:
            wrong += [f"recovery took {each:.2f} s, bound {scenario.bound:.2f} s" for each in recoveries if each > scenario.bound]
        wrong += doctor(under_test)
    except Exception as error:
        wrong.append("".join(traceback.format_exception_only(error)).strip())
    finally:
        under_test.close()
        if not wrong or mutant:
            shutil.rmtree(folder)
        else:
            wrong.append(f"logs are in {folder}")
    row["recoveries"] += recoveries
    return wrong


def doctor(under_test):
    """Nothing may be left that does not belong: asked once the workers have gone."""
    done = under_test.run("doctor", "--deep", "-o", "json", check=False)
    if done.returncode == 0:
        return []
    return [f"doctor --deep: exit {done.returncode}: {done.stdout.strip()[:1500]} {done.stderr.strip()[:500]}"]


def report(rows, options):
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=root, capture_output=True, text=True).stdout.strip()
    lines = [
        "# Reliability",
        "",
        f"Written by `scripts/faults{' --long' if options.long else ''} --report` (seed {options.seed}, commit {commit}); nothing here is typed by hand.",
        "",
        f"Real workers, a real redis-server, a proxy that misbehaves, real signals. Each operation is a program that appends a line to a file when it starts and when it ends: that file, not what",
        f"Sluice says of itself, decides. *Lost*: not ended, or said to have ended although it did not. *Unexplained*: two starts under one fence or as one delivery, or a start beyond what the record tells.",
        f"The lease was {LEASE:.0f} s here (15 s by default); the bound of recovery is lease + beat + 1 s. After each run, once everything has ended, `sluice doctor --deep` must find nothing.",
        "",
        "| scenario | runs | operations | starts | lost | unexplained | recovery p50 / max | bound |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        times = sorted(row["recoveries"])
        recovery = f"{times[len(times) // 2]:.2f} s / {times[-1]:.2f} s" if times else ""
        bound = f"{row['bound']:.2f} s" if row["bound"] else ""
        lines.append(f"| {row['what']} | {row['runs']} | {row['operations']} | {row['starts']} | 0 | 0 | {recovery} | {bound} |")
    (root / "docs/reliability.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    sys.exit(main())
