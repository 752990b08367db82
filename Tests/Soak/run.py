"""Plays random worlds; see scripts/soak."""
import argparse
import concurrent.futures
import itertools
import pathlib
import shutil
import sys
import tempfile
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "Faults"))

import report  # noqa: E402
import script  # noqa: E402
import shrink  # noqa: E402
from features import ALL  # noqa: E402
from judge import Judge  # noqa: E402
from make import OPERATIONS, chosen, make  # noqa: E402
from place import make_place  # noqa: E402
from play import Play  # noqa: E402

root = pathlib.Path(__file__).resolve().parent.parent.parent


def main():
    parser = argparse.ArgumentParser(prog="scripts/soak", description="Plays random worlds, in which every feature meets every other.")
    parser.add_argument("--seed", type=int, default=1, help="the first seed (1)")
    parser.add_argument("--seeds", type=int, default=1, help="how many (1)")
    parser.add_argument("--minutes", type=float, help="as many seeds as begin within this time, instead of --seeds")
    parser.add_argument("--side-by-side", type=int, default=3, metavar="N", help="how many worlds at once (3)")
    parser.add_argument("--features", help="only these, separated by commas, instead of those that a seed chooses")
    parser.add_argument("--operations", type=int, default=OPERATIONS, help=f"how many operations a world has ({OPERATIONS})")
    parser.add_argument("--no-shrink", action="store_true", help="do not make a world that fails smaller")
    parser.add_argument("--pairs", action="store_true", help="show in how many of 100 seeds each pair of features is, and run nothing")
    parser.add_argument("--script", action="store_true", help="print the world of --seed as commands, and run nothing")
    parser.add_argument("--stop", action="store_true", help="end a world at its first finding; with --keep, Redis' files have what led to it")
    parser.add_argument("--unbounded", action="store_true", help="do not check how soon something starts: the machine does other things meanwhile")
    parser.add_argument("--keep", metavar="FOLDER", help="keep the logs of worlds that fail in this folder")
    parser.add_argument("--report", nargs="?", const=root / "docs/reliability.md", metavar="FILE", help="write the part of docs/reliability.md about worlds")
    parser.add_argument("--binary", type=pathlib.Path, default=root / ".build/release/sluice")
    options = parser.parse_args()
    options.features = options.features.split(",") if options.features else None
    if unknown := [name for name in options.features or [] if name not in ALL]:
        parser.error(f"no feature {', '.join(unknown)}; known: {', '.join(ALL)}")
    if options.pairs:
        return pairs()
    if options.script:
        return print(script.of(make(options.seed, options.features, options.operations)))
    if not options.binary.exists():
        parser.error(f"{options.binary} does not exist; build it, or name another one with --binary")
    return soak(options)


def soak(options):
    begin, failed, totals, outcomes = time.monotonic(), [], {}, []
    seeds = itertools.count(options.seed) if options.minutes else range(options.seed, options.seed + options.seeds)

    def one(seed):
        if options.minutes and time.monotonic() - begin > 60 * options.minutes:
            return None
        return seed, play(options, seed, options.features, options.operations)

    with concurrent.futures.ThreadPoolExecutor(options.side_by_side) as pool:
        for result in results(pool, one, seeds, options.side_by_side):
            seed, outcome = result
            outcomes.append(result)
            for name, count in outcome["counts"].items():
                totals[name] = totals.get(name, 0) + count
            print(line(seed, outcome), flush=True)
            if outcome["findings"]:
                failed.append(seed)
                print(*(f"    {text[:400]}" for text in outcome["findings"][:12]), sep="\n", flush=True)
    print(f"{totals.get('worlds', 0)} worlds, {len(failed)} failed; " + ", ".join(f"{count} {name}" for name, count in totals.items()), flush=True)
    if options.report:
        report.write(options.report, f"scripts/soak --seed {options.seed} --seeds {len(outcomes)} --report", outcomes, root)
    if failed and not options.no_shrink:
        smaller(options, failed[0])
    return 1 if failed else 0


def results(pool, one, seeds, width):
    """Yields outcomes as they are finished. At most `width` worlds run at once."""
    seeds, running = iter(seeds), set()
    while True:
        while len(running) < width and (seed := next(seeds, None)) is not None:
            running.add(pool.submit(one, seed))
        if not running:
            return
        done, running = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
        found = [each.result() for each in done]
        yield from (each for each in found if each)
        if None in found:
            seeds = iter(())


def play(options, seed, features, operations):
    """Plays one world, from its start to its verdict."""
    world, begin = make(seed, features, operations), time.monotonic()
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"soak-{seed}."))
    outcome = {"findings": [], "counts": {"worlds": 1}}
    place = None
    try:
        place = make_place(options.binary, folder / "place", world)
        run = Play(place, world, options.stop, options.unbounded)
        run.run()
        judge = Judge(run)
        verdict = [] if options.stop and run.findings else judge.findings()
        outcome["findings"] = list(dict.fromkeys([*run.findings, *verdict]))
        outcome["counts"] |= {
            "operations": len(judge.lines), "starts": sum(map(len, judge.starts.values())), "faults": place.faults,
            "commands": run.commands, "explanations": run.explained * len(world.queues),
        }
    except Exception:
        outcome["findings"].append("harness: " + traceback.format_exc())
    finally:
        if place:
            place.close()
        if outcome["findings"] and options.keep:
            shutil.copytree(folder, pathlib.Path(options.keep) / folder.name, ignore=shutil.ignore_patterns("*.sock"))
        shutil.rmtree(folder, ignore_errors=True)
    outcome["seconds"] = time.monotonic() - begin
    return outcome


def line(seed, outcome):
    counts = ", ".join(f"{count} {name}" for name, count in outcome["counts"].items() if name != "worlds")
    return f"seed {seed}: {'FAILED' if outcome['findings'] else 'ok'} after {outcome['seconds']:.0f} s; {counts}"


def smaller(options, seed):
    def fails(features, operations):
        outcome = play(options, seed, features, operations)
        return bool(outcome["findings"])

    features, operations = shrink.smallest(fails, options.features or chosen(seed), options.operations, lambda text: print(text, flush=True))
    print(f"\nThe smallest world that still fails: scripts/soak --seed {seed} --operations {operations} --features {','.join(features)}")
    print(script.of(make(seed, features, operations)))


def pairs():
    counts = {pair: 0 for pair in itertools.combinations(ALL, 2)}
    for seed in range(1, 101):
        for pair in itertools.combinations(chosen(seed), 2):
            counts[pair] += 1
    least = sorted(counts.items(), key=lambda each: each[1])
    print(f"{len(ALL)} features, {len(counts)} pairs; of 100 seeds a pair is in {least[0][1]} to {least[-1][1]}. The rarest:")
    for (one, other), count in least[:5]:
        print(f"{count:4}  {one} and {other}")
    return 1 if least[0][1] < 20 else 0


if __name__ == "__main__":
    sys.exit(main())
