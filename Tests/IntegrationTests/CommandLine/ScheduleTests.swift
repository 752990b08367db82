import Foundation
import Operations
import RedisClient
import TestSupport
import Testing

extension CommandLineTests {
    @Suite("schedule")
    struct ScheduleTests {
        private let sluice = CommandLine()

        @Test("A dry run of an interval with a start shows the instants that the added schedule has")
        func dryRunFromStart() async throws {
            let start = Date(timeIntervalSinceNow: 3 * 3600 + 7 * 60).formatted(.iso8601)
            let instants = { (lines: [String]) in
                lines.compactMap { $0.firstMatch(of: /\S+T\S+Z/).map { String($0.0) } }
            }
            let promised = instants(
                try await sluice.lines(
                    "schedule",
                    "add",
                    "tick",
                    "noop",
                    "--every",
                    "1h",
                    "--start",
                    start,
                    "--dry-run"
                )
            )
            try await sluice.lines("schedule", "add", "tick", "noop", "--every", "1h", "--start", start)
            #expect(promised.count == 5 && promised.first == start)
            #expect(instants(try await sluice.lines("schedule", "preview", "tick", "-n", "5")) == promised)
        }

        @Test("A schedule can be added, listed, paused, resumed, run and removed; JSON and events show it")
        func changes() async throws {
            let added = try await sluice.lines(
                "schedule",
                "add",
                "nightly",
                "noop",
                "x=1",
                "--cron",
                "0 3 * * *",
                "--tz",
                "Europe/Berlin"
            )
            #expect(added.first?.hasPrefix("nightly: runs next in ") == true, "\(added)")
            let shown = try await sluice.json("schedule", "show", "nightly")
            #expect(
                shown["state"]?.stringValue == "active" && shown["zone"]?.stringValue == "Europe/Berlin",
                "\(shown)"
            )
            #expect(shown["nextLocal"]?.stringValue?.contains("T03:00:00+0") == true, "\(shown)")
            #expect(try await sluice.lines("schedule", "ls", "-o", "id") == ["nightly"])
            let again = try await sluice(
                "schedule",
                "add",
                "nightly",
                "noop",
                "x=1",
                "--cron",
                "0 3 * * *",
                "--tz",
                "Europe/Berlin"
            )
            #expect(again.code == 0 && again.errors.contains("nothing was changed"), "\(again.errors)")
            let other = try await sluice("schedule", "add", "nightly", "noop", "--every", "1h")
            #expect(other.code == 5 && other.errors.contains("exists already") && other.errors.contains("--replace"))
            #expect(try await sluice("schedule", "add", "nightly", "noop", "--every", "1h", "--replace").code == 0)

            #expect(try await sluice.lines("schedule", "pause", "nightly") == ["nightly paused"])
            #expect(try await sluice.lines("schedule", "pause", "nightly") == ["nightly is paused already"])
            let why = try await sluice("schedule", "show", "nightly").output
            #expect(why.contains("does not run: paused") && why.contains("schedule resume nightly"), "\(why)")
            #expect(try await sluice.lines("schedule", "resume", "nightly") == ["nightly resumed"])
            let id = try #require(try await sluice.lines("schedule", "run", "nightly").first)
            #expect(try await sluice.state(id) == "ready")
            let queue = try await sluice.json("queue", "show", "default")
            #expect(queue["schedules"]?["count"]?.intValue == 1 && queue["schedules"]?["next"]?.stringValue != nil)
            let table = try await sluice("stats").output
            #expect(table.contains("schedules 1"), "\(table)")
            #expect(try await sluice.lines("schedule", "rm", "nightly") == ["nightly removed"])
            let events = try await sluice("events", "--since", "1h", "--no-follow", "--changes").output
            for verb in ["setSchedule", "pauseSchedule", "resumeSchedule", "runSchedule", "removeSchedule"] {
                #expect(events.contains(verb), "\(events)")
            }
        }

        @Test(
            "With --if-exists, operations share a unique key; show, list and JSON name the schedule, but not for a rerun"
        )
        func ifExists() async throws {
            try await sluice.lines("schedule", "add", "sync", "noop", "--every", "1h", "--if-exists", "skip")
            let first = try #require(try await sluice.lines("schedule", "run", "sync").first)
            let again = try await sluice("schedule", "run", "sync")
            #expect(again.output == first + "\n" && again.errors.contains("nothing was enqueued"), "\(again.errors)")
            let operation = try await sluice.json("show", first)
            #expect(operation["schedule"] == "sync" && operation["unique"]?["key"] == "schedule:sync", "\(operation)")
            #expect(try await sluice("show", first).output.contains("schedule   sync"))
            #expect(try await sluice.lines("list", "schedule:sync", "-o", "id") == [first])
            #expect(try await sluice.json("schedule", "show", "sync")["ifExists"] == "skip")
            #expect(try await sluice("schedule", "show", "sync").output.contains("if exists  skip"))
            let rerun = try #require(try await sluice.lines("rerun", first, "-o", "id").first)
            #expect(try await sluice.json("show", rerun)["schedule"]?.isNull == true)
            try await sluice.lines(
                "schedule",
                "add",
                "sync",
                "noop",
                "--every",
                "1s",
                "--if-exists",
                "skip",
                "--replace"
            )
            try await sluice.lines("queue", "pause", "default")
            let worker = try await sluice.worker()
            try await eventually("an instant is left out") {
                try await sluice.json("schedule", "show", "sync")["overlapped"]?.isNull == false
            }
            #expect(try await sluice.lines("list", "schedule:sync", "-o", "id") == [first])
            worker.send(SIGTERM)
            #expect(await worker.outcome().code == 0)
        }

        @Test("An unknown schedule id suggests a similar one; an id in two queues names both")
        func unknown() async throws {
            for queue in ["one", "two"] {
                _ = try await sluice("schedule", "add", "nightly", "noop", "--every", "1h", "-q", queue)
            }
            let near = try await sluice("schedule", "show", "nighly")
            #expect(near.code == 3 && near.errors.contains("did you mean \"nightly\"?"), "\(near.errors)")
            let two = try await sluice("schedule", "rm", "nightly")
            #expect(two.code == 64 && two.errors.contains("one, two") && two.errors.contains("-q one"), "\(two.errors)")
            #expect(try await sluice("schedule", "rm", "nightly", "-q", "two").code == 0)
            #expect(try await sluice("schedule", "rm", "nightly").code == 0)
        }

        @Test(
            "An invalid schedule is refused with what was expected",
            arguments: [
                (["--cron", "0 0 30 2 *"], "never matches: FEB has no day 30"),
                (["--every", "999ms"], "expected 1 second to 10 years"),
                (["--every", "0s"], "expected 1 second to 10 years"),
                (["--cron", "0 25 * * *"], "the hour is \"25\"; expected 0 to 23"),
                (["--cron", "0 3 * *"], "it has 4 fields"), ([], "expected --every or --cron"),
                (["--every", "1h", "--cron", "@daily"], "exclude each other"),
                (["--every", "1h", "--tz", "UTC"], "--tz belongs to --cron"),
                (["--cron", "@daily", "--tz", "Europe/Berln"], "--tz Europe/Berlin"),
                (["--every", "1h", "--misfire", "all"], "misfire"),
                (["--every", "1h", "--end", "2020-01-01T00:00:00Z"], "no instant between now and the schedule's end"),
                (["--every", "1h", "--if-exists", "debounce"], "if-exists"),
                (["--every", "1h", "--attempts", "0"], "attempts is 0"),
            ]
        )
        func wrong(_ words: [String], _ text: String) async throws {
            let program = try sluice.start(["schedule", "add", "s", "noop"] + words)
            let outcome = await program.outcome()
            #expect(outcome.code == 64 && outcome.errors.contains(text), "\(outcome.code) \(outcome.errors)")
        }

        @Test("preview shows the next runs, also at times that the clock skips or shows twice")
        func preview() async throws {
            let skipped = try await sluice.lines(
                "schedule",
                "preview",
                "--cron",
                "30 2 * * *",
                "--tz",
                "Europe/Berlin",
                "--from",
                "2027-03-27T12:00:00Z",
                "-n",
                "2",
                "-o",
                "id"
            )
            #expect(skipped == ["2027-03-28T01:00:00.000Z", "2027-03-29T00:30:00.000Z"])
            let twice = try await sluice.json(
                "schedule",
                "preview",
                "--cron",
                "15 2 * * *",
                "--tz",
                "Europe/Berlin",
                "--from",
                "2027-10-30T12:00:00Z",
                "-n",
                "2"
            )
            let local = twice["next"]?.arrayValue?.compactMap { $0["local"]?.stringValue }
            #expect(local == ["2027-10-31T02:15:00+02:00", "2027-11-01T02:15:00+01:00"])
        }

        @Test(
            "A worker with all slots busy fires a schedule, even one that is added later, and runs its program"
        )
        func fires() async throws {
            let worker = try await sluice.worker("-c", "1", "--allow", "exec")
            let busy = try await sluice.enqueue("sleep", "seconds:=600")
            try await sluice.reaches("executing", busy)
            _ = try await sluice.lines("schedule", "add", "tick", "--every", "1s", "--", "echo", "hello")
            try await eventually("three instants are enqueued") {
                try await sluice.json("schedule", "show", "tick")["enqueued"]?.intValue ?? 0 >= 3
            }
            let last = try #require(try await sluice.json("schedule", "show", "tick")["lastOperation"]?.stringValue)
            #expect(try await sluice.state(last) == "ready")
            _ = try await sluice.lines("schedule", "pause", "tick")
            try await sluice.lines("cancel", busy, "--wait=180s")
            try await sluice.reaches("finished", last)
            worker.send(SIGTERM)
            #expect(await worker.outcome().code == 0)
        }
    }
}
