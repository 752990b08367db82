"""Prints a world as commands to run one after the other, with a separate Redis."""
import json
import shlex

from world import sent


def of(world):
    text = []
    if world.has("names"):
        text += [f"printf '#!/bin/sh\\nsleep 0.05\\necho null\\n' > {name} && chmod +x {name}" for name in ("greet", "count")]
    text.append("# Workers, each in a terminal of its own:")
    for worker in world.workers:
        words = ["worker", "--name", worker.name, "-c", str(worker.slots), "-q", worker.queues, "--allow", "exec", "--lease", "3s"]
        options = [word if "=" not in word else f"{word}=./{word.split('=')[1]}" for word in worker.options]
        text.append(shlex.join(["sluice", *words, *options]))
    text += ["", "# Settings:", *map(_command, world.setup)]
    for number, ((commands, faults), calm) in enumerate(zip(world.storms, world.calms), 1):
        steps = [(each.at, _command(each)) for each in commands] + [(each.at, _fault(world, each)) for each in faults]
        text += ["", f"# Storm {number}:"]
        text += [f"{step}  # at {at:.1f} s" if "\n" not in step else f"# at {at:.1f} s\n{step}" for at, step in sorted(steps)]
        text += [f"# Calm {number}: sluice explain, sluice doctor --deep", *map(_command, calm)]
    return "\n".join(text)


def _command(command):
    words = shlex.join(["sluice", *command.words])
    if command.lines is None:
        return words
    return f"{words} <<'END'\n" + "".join(json.dumps(_line(line)) + "\n" for line in command.lines) + "END"


def _line(line):
    found = sent(line)
    if line["name"] == "exec":
        found["args"] = {**line["args"], "argv": ["bash", "-c", line["body"]]}
    return found


def _fault(world, fault):
    seconds = f" for {fault.seconds:.1f} s" if fault.seconds else ""
    name = f" {world.workers[fault.worker].name}" if fault.kind in ("kill", "freeze", "drain") else ""
    return f"# {fault.kind}{name}{seconds}"
