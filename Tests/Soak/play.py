"""Plays a world: sets it up, alternates storms and calms, and ends everything."""
import json
import threading
import time

from crew import Crew
from oracle import BEAT, Oracle
from waits import TimedOut, note, until
from world import CALM, sent

# The time from the last fault until everything works again: a lease, a heartbeat, and the time to connect
SETTLE = 5 * BEAT
UNREACHABLE, REFUSALS = 69, (3, 4, 5, 6)
LIVE = "scheduled,blocked,ready,executing,retrying"


class Play:
    def __init__(self, place, world, stops=False, is_unbounded=False):
        """`stops`: end at the first finding, with its cause still in Redis. `is_unbounded`: check no times."""
        self.place, self.world, self.stops, self.is_unbounded, self.findings = place, world, stops, is_unbounded, []
        # The ids by their texts, and how each enqueue ended
        self.ids, self.new, self.doubtful, self.refused = {}, set(), set(), {}
        # Operations that are released at the end, because they would wait forever
        self.let_go = set()
        self.commands = self.explained = 0

    def run(self):
        for command in self.world.setup:
            self.send(command)
        crew, self.oracle = Crew(self.place, self.world.workers), Oracle(self.place, self.world.queues)
        try:
            for number, ((commands, faults), calm) in enumerate(zip(self.world.storms, self.world.calms)):
                self.storm(crew, commands, faults)
                self.calm(calm)
                if self.stops and (self.findings or self.oracle.findings):
                    return
            self.end()
        finally:
            crew.close()
            self.findings += crew.findings + ([] if self.is_unbounded else self.oracle.findings)
            self.explained = self.oracle.looks

    # Phases

    def storm(self, crew, commands, faults):
        sending = self.in_background(commands)
        begin = time.monotonic()
        for fault in faults:
            time.sleep(max(0, begin + fault.at - time.monotonic()))
            crew.strike(fault)
        sending.join()

    def in_background(self, commands):
        def send():
            begin = time.monotonic()
            try:
                for command in commands:
                    time.sleep(max(0, begin + command.at - time.monotonic()))
                    self.send(command)
            except Exception as failure:
                self.findings.append(f"harness: {failure!r}")

        thread = threading.Thread(target=send)
        thread.start()
        return thread

    def calm(self, commands):
        time.sleep(SETTLE)
        sending, begin = self.in_background(commands), time.monotonic()
        self.oracle.begin()
        while time.monotonic() - begin < CALM:
            self.oracle.look()
        sending.join()
        self.doctor("in a calm")

    def doctor(self, when):
        done = self.retried(["doctor", "--deep", "-o", "json"])
        for finding in json.loads(done.stdout)["findings"]:
            if finding["severity"] == "error":
                self.findings.append(f"doctor {when}: {finding['code']} {finding['queue']} {finding['subject']}: {finding['message']}")

    def end(self):
        """Removes everything that holds operations up. Then all of them must end."""
        for queue in self.world.queues:
            self.retried(["queue", "resume", queue])
        for worker in self.world.workers:
            self.retried(["workers", "resume", worker.name])
        if self.world.has("schedules"):
            self.retried(["schedule", "rm", "every-0", "every-1", "-y"])
        for group, queue in self.world.groups.items():
            self.retried(["group", "close", f"{queue}/{group}"])
        try:
            until(self.is_over, "everything ends", 60)
        except TimedOut as reason:
            self.findings.append(f"liveness: {reason}")
            self.findings += [f"liveness: {each['sentence']}" for each in self.explain_live()]
        self.doctor("at the end")

    def is_over(self):
        live = [json.loads(line) for line in self.retried(["list", f"state:{LIVE}", "-o", "jsonl"]).stdout.splitlines()]
        ids = {record["id"] for record in live}
        held = [f"{record['queue']}/{record['id']}" for record in live if record["hold"] or self.waits_for_a_person(record, ids)]
        for each in held:
            self.let_go.add(each.split("/")[1])
            # A callback of a dead group cannot be released: it waits until an operator retries the group.
            if self.retried(["release", each]).returncode:
                self.retried(["cancel", each])
        # Untracked operations are in no list.
        counts = [self.live_counts(queue) for queue in self.world.queues]
        note(sorted((record["id"], record["state"], record["delivery"]) for record in live) + counts)
        return not live and not any(counts)

    def live_counts(self, queue):
        counts = json.loads(self.retried(["queue", "show", queue, "-o", "json"]).stdout or "{}").get("counts", {})
        return {state: count for state, count in counts.items() if count and state in LIVE.split(",")}

    def waits_for_a_person(self, record, live):
        """Returns whether an operation waits for an operator: a dependency with the policy hold ended unfinished.

        After a retry by hand, a dependency with the policy cancel waits as well.
        """
        is_again = any(self.world.has(feature) for feature in ("reruns", "tree-reruns", "group-changes"))
        unmet = [need for need in record["dependencies"] if not need["isMet"] and need["id"] not in live]
        return any(need["onFailure"] == "hold" or need["onFailure"] == "cancel" and is_again for need in unmet)

    def explain_live(self):
        return map(json.loads, self.retried(["explain", "-w", f"state:{LIVE}", "--limit", "8", "-o", "jsonl"]).stdout.splitlines())

    # Commands

    def send(self, command):
        self.commands += 1
        if command.lines is not None:
            return self.enqueue(command.words, command.lines)
        done = self.retried(command.words)
        if done.returncode not in (0, *command.allowed):
            self.findings.append(f"command: {' '.join(command.words)}: exit {done.returncode}: {done.stderr.strip()[-300:]}")
        elif done.returncode == 0:
            self.read_after(command.words)

    def retried(self, words, input=None, doubt=None):
        """Repeats a command until Redis has answered it."""
        while True:
            done = self.place.call(words, input)
            if done.returncode != UNREACHABLE:
                return done
            if doubt is not None:
                doubt.append(done)
            time.sleep(0.1)

    def enqueue(self, words, lines):
        doubt = []
        input = "".join(json.dumps(self.place_line(line)) + "\n" for line in lines)
        done = self.retried([*words, "-o", "jsonl", "--quiet"], input, doubt)
        outcomes = [json.loads(line) for line in done.stdout.splitlines()]
        if done.returncode == 0 and len(outcomes) == len(lines):
            for line, outcome in zip(lines, outcomes):
                self.ids[line["text"]] = outcome["id"]
                (self.doubtful if doubt else self.new if outcome["isNew"] else set()).add(line["text"])
        elif len(lines) > 1:
            # Redis refuses one line because of its dependencies. Enqueue the lines one by one, so the others are
            # stored.
            for line in lines:
                self.enqueue(words, [line])
        elif done.returncode in REFUSALS:
            self.refused[lines[0]["text"]] = done.stderr
        else:
            self.findings.append(f"enqueue: {json.dumps(sent(lines[0]))}: exit {done.returncode}: {done.stderr.strip()[-300:]}")

    def place_line(self, line):
        """Returns a line as it is sent: its program writes to the ledger of this run."""
        found = sent(line)
        if line["name"] == "exec":
            from place import SCRIPT

            found["args"] = {**line["args"], "argv": ["bash", "-c", SCRIPT % line["body"]]}
        return found

    # Read after write

    def read_after(self, words):
        match words:
            case ["cancel", target, *_] if "/" in target:
                self.expect(words, target, lambda record: record["cancel"] or record["state"] not in LIVE.split(","))
            case ["hold", target]:
                self.expect(words, target, lambda record: record["hold"] or record["state"] not in ("ready", "scheduled", "retrying", "blocked"))
            case ["retry", target, *_] if target.split("/")[-1] in self.world.groups:
                self.group_is_open(words, target)

    def expect(self, words, target, holds):
        done = self.retried(["show", target, "-o", "json"])
        if done.returncode == 0 and not holds(record := json.loads(done.stdout)):
            self.findings.append(f"read after write: {' '.join(words)}, and then it is {record['state']}")

    def group_is_open(self, words, target):
        """Checks that a group that reports its end has no live member. Reads the group first, then the members."""
        group = self.retried(["group", "show", target, "-o", "json"])
        if group.returncode or json.loads(group.stdout)["state"] == "blocked":
            return
        live = self.retried(["list", f"group:{target}", f"state:{LIVE}", "-o", "id"]).stdout.split()
        if live:
            self.findings.append(f"read after write: {' '.join(words)}, and then it is {json.loads(group.stdout)['state']}, while {live} live")
