"""A dashboard over real work in every state, for the scripts that look at its pages."""
import json
import pathlib
import subprocess
import time

from site_history import History
from sites import Site

# Operations that the pages show, by the texts of their ids.
OPERATIONS = ["running", "finished", "dead", "retrying", "blocked", "scheduled", "held", "ready", "unhandled", "cancelled", "program", "hostile", "hostile-runs"]
# Text in every place that takes one; scripts/page_rules.js looks for its element and its characters.
MARKUP = "<img data-hostile src=//x.test>\"'&amp;"
HOSTILE = MARKUP + "\u202egpj \u001b[31m"


class DashboardSite(Site):
    def dashboard(self, *options, interval="250ms"):
        """Starts a dashboard. Its first login link is `login`, and its address `home`."""
        words = [self.binary, "dashboard", "--bind", "127.0.0.1:0", "--link", "admin", "-o", "json", "--interval", interval, *options]
        errors = pathlib.Path(self.folder, "dashboard.errors").open("wb")
        child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, env=self.environment(), text=True)
        self.children.append(child)
        line = child.stdout.readline()
        if not line:
            raise SystemExit("error: the dashboard did not start: " + pathlib.Path(errors.name).read_text())
        place = json.loads(line)
        self.home, self.login, self.server_process = place["url"].rstrip("/"), place["login"], child
        return child

    def command(self, *words, given=None, check=True):
        result = super().command(*words, given=given, check=False)
        if check and result.returncode:
            raise SystemExit(f"error: sluice {' '.join(words)}: {result.stderr}")
        return result

    def enqueue(self, *lines):
        self.sluice("enqueue", "--batch", "-", "--quiet", given="\n".join(map(json.dumps, lines)))

    def count(self, state):
        return self.stats()["counts"][state]

    def work(self):
        """Makes operations in every state, groups, schedules, limits, a paused queue, and a lost worker."""
        self.enqueue(
            *({"name": "noop", "queue": "mail", "args": {"to": f"user{n}@example.com", "text": HOSTILE}, "tags": ["letter"]} for n in range(40)),
            {"name": "noop", "queue": "mail", "id": "finished", "args": {"nested": {"list": [1, 2, 3]}, "long": "word " * 200}, "headers": {"tenant": "acme"}},
            {"name": "exec", "queue": "mail", "id": "program", "args": {"argv": ["sh", "-c", "for n in 1 2 3; do echo line $n; done; echo oops >&2"]}},
            *({"name": "fail", "queue": "mail", "attempts": 1, "args": {"message": f"SMTP 550: mailbox {n} unavailable"}} for n in range(7)),
            {"name": "fail", "queue": "mail", "id": "dead", "attempts": 2, "args": {"message": f"no space left on /data {HOSTILE}", "retryable": False}},
            {"name": "sleep", "queue": "mail", "id": "goes", "args": {"seconds": 0}},
        )
        self.hostile()
        self.sluice("worker", "-q", "mail", "--allow", "exec", "-c", "8", "--burst", "--name", "burst")
        self.wait("the end of the first work", lambda: self.count("dead") == 8)
        # video-1 recovers what the first one ran. No worker recovers what the second one ran, so it stays lost.
        lost = [self.start(self.binary, "worker", "-q", queue, "-c", "2", "--name", f"{queue}-lost", "--lease", "5s") for queue in ("video", "audio")]
        self.enqueue(*({"name": "sleep", "queue": queue, "args": {"seconds": 7200}} for queue in ("video", "audio")))
        self.wait("operations of the lost workers", lambda: self.count("executing") == 3)
        # A heartbeat has the start, so the pages have a name without an ended run.
        self.wait("the statistics of the lost workers", lambda: "sleep" in self.sluice("top", "names", "-q", "audio"))
        for worker in lost:
            worker.kill()
            worker.wait()
        group = self.sluice("group", "open", "nightly", "-q", "video", "--id", "nightly", "-o", "id").strip().split("\n")[0]
        self.enqueue(
            {"name": "sleep", "queue": "video", "id": "running", "args": {"seconds": 7200}, "tags": ["big"], "group": [group]},
            {"name": "sleep", "queue": "video", "args": {"seconds": 7200}, "limitKey": "acme"},
            {"name": "noop", "queue": "video", "id": "blocked", "after": ["video/running:run"], "group": [group]},
            {"name": "noop", "queue": "video", "id": "scheduled", "in": "5h", "priority": "high"},
            {"name": "noop", "queue": "video", "id": "held"},
            {"name": "noop", "queue": "video", "onEnd": group},
            {"name": "Unknown", "queue": "video", "id": "unhandled"},
            {"name": "fail", "queue": "video", "id": "retrying", "attempts": 900, "args": {"message": "connection refused"}},
            {"name": "noop", "queue": "billing", "id": "ready"},
            {"name": "noop", "queue": "billing", "id": "cancelled"},
            {"name": "noop", "queue": "billing", "id": "to-cancel", "args": {"customer": 7}},
            {"name": "noop", "queue": "billing", "id": "to-cancel-without-script"},
        )
        self.sluice("queue", "limit", "video", "concurrency=6", "rate=100/s")
        self.sluice("hold", "video/held", "--reason", "ask Ann first")
        self.sluice("queue", "pause", "billing", "--reason", HOSTILE, "--for", "10h")
        self.sluice("cancel", "billing/cancelled", "-y", "--reason", "customer 7 has left")
        self.sluice("schedule", "add", "nightly", "noop", "--cron", "0 3 * * *", "--tz", "Europe/Berlin", "-q", "mail")
        self.sluice("schedule", "add", "often", "noop", "--every", "10m", "-q", "mail")
        self.sluice("schedule", "run", "nightly")
        self.sluice("schedule", "pause", "often")
        for queue, name in ("video", "video-1"), ("mail", "mail-1"):
            self.start(self.binary, "worker", "-q", queue, "-c", "5", "--name", name, "--lease", "60s", "--build", "2026.11.4")
        self.wait("a lost worker, and work that runs", lambda: self.is_ready())
        self.history()

    def hostile(self):
        """Makes operations with hostile text in ids, tags, headers, arguments, reasons, progress and logs."""
        program = pathlib.Path(self.folder, "hostile")
        message = json.dumps({"progress": 0.5, "message": HOSTILE})
        program.write_text(f"#!/usr/bin/env python3\nimport os, sys, time\nos.write(3, {message!r}.encode() + b'\\n')\n"
                           f"print({HOSTILE!r}, file=sys.stderr, flush=True)\ntime.sleep(7200)\n")
        program.chmod(0o755)
        text = {"tags": [HOSTILE], "headers": {"tenant": MARKUP}, "args": {HOSTILE: HOSTILE}}
        self.enqueue(
            {"name": "Waits", "queue": "hostile", "id": "hostile"} | text,
            {"name": "Waits", "queue": "hostile", "id": HOSTILE, "unique": MARKUP, "in": "9h"} | text,
            {"name": "Hostile", "queue": "hostile", "id": "hostile-runs"} | text,
        )
        self.sluice("hold", "hostile/hostile", "--reason", HOSTILE)
        self.start(self.binary, "worker", "-q", "hostile", "--handler", f"Hostile={program}", "--name", "hostile-1", "--build", MARKUP[:64])

    def history(self):
        """Writes statistics of a month: pages and pictures without a past would show empty charts."""
        words = b"".join(protocol(command) for command in History(time.time()).commands(self.environment()["SLUICE_NAMESPACE"]))
        answer = subprocess.run(["redis-cli", "-p", str(self.port), "--pipe"], input=words, capture_output=True)
        if answer.returncode:
            raise SystemExit(f"error: Redis refused the history: {answer.stdout.decode(errors='replace')}")

    def is_ready(self):
        workers = json.loads(self.sluice("workers", "ls", "-o", "json"))["workers"]
        counts = self.stats()["counts"]
        return any(w["state"] == "LOST" for w in workers) and counts["executing"] >= 4 and counts["retrying"] >= 1

    def contents(self):
        """Returns the contents of all keys that do not expire, as hashes."""
        script = """local found = {}
            for _, key in ipairs(redis.call('keys', '*')) do
              if redis.call('pttl', key) == -1 then found[#found + 1] = key .. ' ' .. redis.sha1hex(redis.call('dump', key)) end
            end
            return found"""
        return dict(line.rsplit(" ", 1) for line in self.redis("eval", script, 0).splitlines())


def protocol(words):
    """A command in the form in which Redis reads it."""
    parts = [word if isinstance(word, bytes) else word.encode() for word in words]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)
