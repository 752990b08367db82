import Operations
import TestSupport
import Testing

extension CommandLineTests {
    @Suite("Operations chosen by tag or query")
    struct SelectionTests {
        private let sluice = CommandLine()

        @Test("A tag or query selects exactly the operations to cancel, retry, wait for and remove")
        func changes() async throws {
            let tagged = [
                try await sluice.enqueue("noop", "-t", "nightly"), try await sluice.enqueue("noop", "-t", "nightly"),
            ]
            let untracked = try await sluice.enqueue("noop", "-t", "nightly", "--no-track")
            let other = try await sluice.enqueue("noop", "-t", "daily")
            let asked = try await sluice("cancel", "-t", "nightly")
            #expect(asked.code == 5 && asked.errors.contains("cancel -t nightly -y"), "\(asked.errors)")
            #expect(try await sluice("cancel", "-t", "nightly", "-y").errors.contains("3 match"))
            for id in tagged { #expect(try await sluice.state(id) == "cancelled") }
            #expect(try await sluice.state(other) == "ready")

            #expect(await (try sluice.start(["worker", "--burst"])).outcome().code == 0)
            #expect(try await sluice.state(untracked) == "cancelled")
            #expect(try await sluice.total("started") == 1)

            #expect(try await sluice("retry", "-w", "tag:nightly", "-y").code == 0)
            let waiting = try sluice.start(["wait", "-t", "nightly", "--timeout", "1h", "-o", "id"])
            // wait ignores operations that end before it looks.
            try await eventually("it waits for them") { waiting.errors.contains("0/3") }
            let worker = try await sluice.worker()
            let end = await waiting.outcome()
            #expect(end.code == 0, "\(end.errors)")
            #expect(Set(end.output.split(separator: "\n").map(String.init)) == Set(tagged + [untracked]))

            #expect(try await sluice("rm", "-w", "tag:nightly state:finished", "-y").code == 0)
            #expect(try await sluice.state(tagged[0]) == "none")
            #expect(try await sluice.state(other) == "finished")
            worker.send(15)
            #expect(await worker.outcome().code == 0)
        }

        @Test(
            "A selection excludes ids, --all and --queue, and a query must be valid",
            arguments: [
                ["-t", "a", "--all"], ["-t", "a", "--queue", "default"], ["-t", "a", "01ARZ3NDEKTSV4RRFFQ69G5FAV"],
                ["-w", "stat:dead"], ["-w", "state:wrong"],
            ]
        )
        func refused(_ arguments: [String]) async throws {
            #expect(await (try sluice.start(["cancel", "-y"] + arguments)).outcome().code == 64)
        }

        @Test("--dry-run counts and shows what would change, and changes nothing")
        func dryRun() async throws {
            let meant = try await sluice.enqueue("noop", "user:={\"id\":42}", "-p", "high")
            let other = try await sluice.enqueue("noop", "user:={\"id\":43}")
            let query = "args.user.id:42 priority:>=high age:<1h"
            let run = try await sluice("cancel", "-w", query, "--dry-run", "-o", "json")
            #expect(run.code == 0, "\(run.errors)")
            let json = try JSONValue(parsing: run.output)
            #expect(json["matches"]?.intValue == 1 && json["scanned"]?.intValue == 2 && json["total"]?.intValue == 2)
            #expect(json["sample"]?[0]?["id"]?.stringValue == meant)
            let said = "dry run: 1 would be cancelled; scanned 2 of 2; nothing was changed"
            #expect(run.errors.contains(said), "\(run.errors)")
            for arguments in [["--queue", "default"], ["--all"], [meant, other]] {
                let preview = await (try sluice.start(["cancel", "--dry-run", "-o", "id"] + arguments)).outcome()
                #expect(preview.code == 0 && preview.errors.contains("dry run: 2 would be cancelled"), "\(arguments)")
                #expect(Set(preview.output.split(separator: "\n").map(String.init)) == [meant, other], "\(arguments)")
            }
            #expect(try await sluice.count(.ready) == 2)
            #expect(try await sluice.lines("cancel", "-w", query, "-y", "-o", "id") == [meant])
            #expect(try await sluice.state(other) == "ready")
            #expect(try await sluice.lines("rm", "--dry-run", "-o", "id", "-w", "-state:ready") == [meant])
            #expect(try await sluice.state(meant) == "cancelled")
            // A change that the state of an operation forbids is counted as refused.
            for arguments in [[meant, other], ["-w", "name:noop state:ready,cancelled"]] {
                let preview = await (try sluice.start(["cancel", "--dry-run", "-o", "id"] + arguments)).outcome()
                #expect(preview.output == other + "\n", "\(arguments)")
                let said = "dry run: 1 would be cancelled; 1 would be refused"
                #expect(preview.errors.contains(said), "\(arguments): \(preview.errors)")
            }
        }

        @Test("Encrypted arguments without a key are counted as not looked at, and not changed")
        func encrypted() async throws {
            let folder = try TemporaryDirectory()
            let keys = folder.path("keys")
            try await sluice.lines("config", "keys", keys, "--encrypt", "--id", "k1")
            let sealed = try await sluice.enqueue("noop", "user=ann", "--keys-file", keys)
            let clear = try await sluice.enqueue("noop", "user=ann")
            let blind = try await sluice("list", "args.user:ann", "-o", "id")
            #expect(blind.output == clear + "\n")
            #expect(blind.errors.contains("1 match; scanned 2 of 2, 1 of them not looked at"), "\(blind.errors)")
            let cancelled = try await sluice("cancel", "-w", "args.user:ann", "-y", "-o", "id")
            #expect(cancelled.output == clear + "\n" && cancelled.errors.contains("1 of them not looked at"))
            #expect(try await sluice.state(sealed) == "ready")
            #expect(try await sluice.lines("list", "args.user:ann", "-o", "id", "--keys-file", keys).contains(sealed))
        }

        @Test("-t matches a tag literally, for every verb; a query has patterns")
        func exactTags() async throws {
            let starred = try await sluice.enqueue("noop", "-t", "v1*")
            let other = try await sluice.enqueue("noop", "-t", "v10-prod")
            #expect(try await sluice.lines("list", "-t", "v1*", "-o", "id") == [starred])
            #expect(Set(try await sluice.lines("list", "tag:v1*", "-o", "id")) == [starred, other])
            #expect(try await sluice.lines("cancel", "-t", "v1*", "-y", "-o", "id") == [starred])
            #expect(try await sluice.state(other) == "ready")
            #expect(try await sluice("wait", "-t", "v1*", "-o", "id").output == starred + "\n")
            #expect(try await sluice("cancel", "-w", "tag:v10*", "-y").code == 0)
            #expect(try await sluice.lines("retry", "-t", "v1*", "-y", "-o", "id") == [starred])
            #expect(try await sluice.state(other) == "cancelled")
            #expect(try await sluice.lines("rm", "-t", "v1*", "-y", "-o", "id") == [starred])
            #expect(try await sluice.state(other) == "cancelled")
        }

        @Test("wait --for started returns once the operation runs; 2 for one that will never start")
        func started() async throws {
            let id = try await sluice.enqueue("sleep", "seconds:=600")
            #expect(try await sluice("wait", id, "--for", "started", "--timeout", "200ms").code == 4)
            let waiting = try sluice.start(["wait", id, "--for", "started"])
            let worker = try await sluice.worker()
            #expect(await waiting.outcome().code == 0)
            #expect(try await sluice.state(id) == "executing")
            #expect(try await sluice("cancel", id, "--wait=180s").code == 0)
            let never = try await sluice.enqueue("noop", "--in", "1h")
            #expect(try await sluice("cancel", never).code == 0)
            #expect(try await sluice("wait", never, "--for", "started").code == 2)
            worker.send(15)
            #expect(await worker.outcome().code == 0)
        }

        @Test("logs --attempt shows the lines of one attempt, also after an operator's retry")
        func attempts() async throws {
            let worker = try await sluice.worker("--allow", "exec")
            let id = try await sluice.enqueue(
                "--attempts",
                "2",
                "--",
                "sh",
                "-c",
                "echo one; echo $SLUICE_ATTEMPT $SLUICE_FENCE; exit 1"
            )
            try await sluice.reaches("dead", id)
            #expect(try await sluice.lines("logs", id, "--attempt", "1") == ["one", "1 1"])
            #expect(try await sluice.lines("logs", id, "--attempt", "2") == ["one", "2 2"])
            #expect(try await sluice("logs", id, "--attempt", "3").errors.contains("these have: 1, 2"))
            #expect(try await sluice("retry", id).code == 0)
            try await eventually("it is dead again") {
                try await sluice.detail(id)?.errors.count == 4
            }
            #expect(try await sluice.lines("logs", id, "--attempt", "2") == ["one", "2 2", "one", "2 4"])
            #expect(try await sluice.lines("logs", id, "--attempt", "2", "-n", "1") == ["2 4"])
            worker.send(15)
            #expect(await worker.outcome().code == 0)
        }

        @Test("events also shows queues that are created while it runs")
        func newQueues() async throws {
            let events = try sluice.start(["events"])
            for queue in ["first", "second"] {
                try await eventually("\(queue) is known") {
                    _ = try await sluice.enqueue("noop", "-q", queue)
                    return events.output.contains("\"queue\":\"\(queue)\"")
                }
            }
            events.send(15)
        }
    }
}
