import Operations
import RedisClient
import TestSupport
import Testing

extension CommandLineTests {
    @Suite("cancel")
    struct CancelTests {
        private let sluice = CommandLine()

        @Test("A running operation stops within the wait and has all timestamps; a second cancel changes nothing")
        func running() async throws {
            let worker = try await sluice.worker()
            let id = try await sluice.enqueue("sleep", "seconds:=600")
            // An operation is executing once it is claimed, but only a body that has begun acknowledges a cancel.
            try await eventually("the body runs") { try await sluice.detail(id)?.progress != nil }
            let outcome = try await sluice("cancel", id, "--wait=180s", "--reason", "wrong file")
            #expect(outcome.code == 0, "\(outcome.errors)")
            #expect(outcome.output.hasPrefix("\(id) cancelled after "))
            let record = try await sluice.json("show", id)
            #expect(record["state"]?.stringValue == "cancelled")
            for key in ["requestedAt", "acknowledgedAt", "stoppedAt"] {
                #expect(record["cancel"]?[key]?.stringValue != nil, "\(key)")
            }
            #expect(record["cancel"]?["reason"]?.stringValue == "wrong file")
            let again = try await sluice("cancel", id, "--wait=180s")
            #expect(again.code == 0)
            #expect(try await sluice.json("show", id) == record)
            worker.send(15)
            #expect(await worker.outcome().code == 0)
        }

        @Test("A waiting operation ends at once and never starts; a finished one cannot be cancelled")
        func waitingAndFinished() async throws {
            let waiting = try await sluice.enqueue("sleep", "seconds:=0")
            let finished = try await sluice.enqueue("noop")
            #expect(try await sluice("cancel", waiting).code == 0)
            let end = await (try sluice.start(["worker", "--burst"])).outcome()
            #expect(end.code == 0)
            #expect(try await sluice.json("show", waiting)["startedAt"]?.isNull == true)
            let refused = try await sluice("cancel", finished)
            #expect(refused.code == 5)
            #expect(refused.errors.contains("already finished"))
            let both = try await sluice("cancel", finished, waiting)
            #expect(both.code == 6)
            #expect(both.errors.contains("1 of 2 not cancelled"))
        }

        @Test("One cancel --all ends 100 operations of four workers within 2 s, and none starts again")
        func everything() async throws {
            let folder = try TemporaryDirectory()
            let path = folder.path("sleepers.jsonl")
            let lines = (0..<140).map { _ in #"{"name":"sleep","args":{"seconds":600}}"# }
            try lines.joined(separator: "\n").write(toFile: path, atomically: true, encoding: .utf8)
            try await sluice.lines("enqueue", "--batch", path)
            // After a late heartbeat, another worker would start operations again.
            let workers = try (0..<4).map { _ in try sluice.start(["worker", "-c", "25", "--lease", "60s"]) }
            try await eventually("all slots are busy") {
                try await sluice.count(.executing) == 100
            }
            let started = ContinuousClock.now
            let outcome = try await sluice("cancel", "--all", "-y", "--wait=180s")
            #expect(outcome.code == 0, "\(outcome.errors)")
            #expect(outcome.output.contains("40 waiting cancelled, 100 executing stopped"), "\(outcome.output)")
            expectPrompt("cancel --all with the start of the process", since: started, promised: .seconds(2))
            try await eventually("all are cancelled") { try await sluice.count(.cancelled) == 140 }
            #expect(try await sluice.total("started") == 100)
            workers.forEach { $0.send(15) }
            for worker in workers { #expect(await worker.outcome().code == 0) }
        }

        @Test("Cancelling a queue keeps every waiting operation from starting")
        func wholeQueue() async throws {
            let folder = try TemporaryDirectory()
            let path = folder.path("noops.jsonl")
            try Array(repeating: #"{"name":"noop"}"#, count: 3000).joined(separator: "\n")
                .write(toFile: path, atomically: true, encoding: .utf8)
            try await sluice.lines("enqueue", "--batch", path, "-q", "bulk", "--no-track")
            try await sluice.lines("enqueue", "--batch", path, "-q", "bulk")
            #expect(
                try await sluice.lines("cancel", "--queue", "bulk", "-y") == [
                    "bulk: 6000 waiting cancelled, 0 executing asked to stop"
                ]
            )
            let after = try await sluice.enqueue("noop", "-q", "bulk")
            #expect(await (try sluice.start(["worker", "-q", "bulk", "--burst"])).outcome().code == 0)
            #expect(try await sluice.total("started") == 1)
            #expect(try await sluice.total("cancelled") == 6000)
            #expect(try await sluice.state(after) == "finished")
        }

        @Test("Without workers, every view shows a cancelled queue at once, and removed operations stay removed")
        func withoutWorkers() async throws {
            var ids: [String] = []
            for _ in 1...3 { ids.append(try await sluice.enqueue("noop", "-q", "idle")) }
            ids.append(try await sluice.enqueue("noop", "-q", "idle", "--in", "1h"))
            try await sluice.lines("cancel", "-q", "idle", "-y")
            func counted() async throws -> Int? {
                let queues = try await sluice.json("queue", "ls")["queues"]?.arrayValue
                return queues?.first { $0["name"]?.stringValue == "idle" }?["counts"]?["cancelled"]?.intValue
            }
            func listed() async throws -> [String] { try await sluice.lines("list", "state:cancelled", "-o", "id") }
            #expect(try await counted() == 4)
            #expect(Set(try await listed()) == Set(ids))
            #expect(try await sluice.lines("list", "state:ready,scheduled", "-o", "id") == [])
            for id in ids { #expect(try await sluice.json("show", id)["state"]?.stringValue == "cancelled") }
            #expect(try await sluice("wait", ids[0], "--timeout", "180s").code == 2)
            #expect(try await sluice("doctor", "--deep").code == 0)
            #expect(try await sluice("rm", ids[0]).code == 0)
            #expect(try await counted() == 3)
            #expect(try await sluice("rm", "-w", "state:cancelled", "-y").code == 0)
            #expect(try await counted() == 0)
            #expect(try await listed() == [])

            #expect(await (try sluice.start(["worker", "-q", "idle", "--burst"])).outcome().code == 0)
            #expect(try await counted() == 0)
            #expect(try await listed() == [])
            for id in ids { #expect(try await sluice.state(id) == "none") }
            #expect(try await sluice("doctor", "--deep").code == 0)
        }
    }
}
