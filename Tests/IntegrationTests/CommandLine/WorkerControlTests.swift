import Foundation
import Operations
import TestSupport
import Testing

extension CommandLineTests {
    @Suite("workers under an operator's control")
    struct WorkerControlTests {
        private let sluice = CommandLine()

        private func shown(_ name: String) async throws -> JSONValue { try await sluice.json("workers", "show", name) }

        private func reaches(_ state: String, _ name: String) async throws {
            try await eventually("\(name) is \(state)") { try await shown(name)["state"]?.stringValue == state }
        }

        /// A lease that a late heartbeat does not end, so that another worker takes nothing over. A request is heard
        /// with the next heartbeat at the latest.
        private static let lease = ["--lease", "60s"]

        private func start(_ name: String, _ arguments: String...) async throws -> Program {
            let worker = try sluice.start(["worker", "-v", "--name", name] + Self.lease + arguments)
            try await eventually("\(name) is known") {
                try await sluice.snapshots().flatMap(\.workers).contains { WorkerInfo($0.info)?.name == name }
            }
            return worker
        }

        @Test("quiet: running operations continue and nothing starts; show names the requester and the time")
        func quiet() async throws {
            let worker = try await start("w1", "-c", "2")
            let running = try await sluice.enqueue("sleep", "seconds:=600")
            try await sluice.reaches("executing", running)
            try await sluice.lines("workers", "quiet", "w1")
            try await reaches("quiet", "w1")
            let course = try #require(try await shown("w1")["settings"]?["course"])
            #expect(course["value"]?.stringValue == "quiet")
            #expect(course["by"]?.stringValue?.contains("@") == true)
            #expect(course.milliseconds("at") != nil)
            let waiting = try await sluice.enqueue("noop")
            // A worker of the same name that starts now is not quiet and runs waiting operations.
            let other = try sluice.start(["worker", "--name", "w1"] + Self.lease)
            try await sluice.reaches("finished", waiting)
            other.send(SIGTERM)
            #expect(await other.outcome().code == 0)
            #expect(try await sluice.state(running) == "executing")
            let next = try await sluice.enqueue("noop")
            try await sluice.lines("workers", "resume", "w1")
            try await sluice.reaches("finished", next)
            try await sluice.lines("cancel", running, "--wait=180s")
            worker.send(SIGTERM)
            #expect(await worker.outcome().code == 0)
        }

        @Test("slots: more take effect at once, and fewer as soon as enough operations have ended")
        func slots() async throws {
            let worker = try await start("w1", "-c", "1")
            var ids: [String] = []
            for _ in 0..<4 { ids.append(try await sluice.enqueue("sleep", "seconds:=600")) }
            try await eventually("one runs") { try await sluice.count(.executing) == 1 }
            try await sluice.lines("workers", "slots", "3", "w1")
            try await eventually("three run") { try await sluice.count(.executing) == 3 }
            try await eventually("it says so") { try await shown("w1")["slots"]?.intValue == 3 }
            try await sluice.lines("workers", "slots", "1", "w1")
            try await eventually("it says so") { try await shown("w1")["slots"]?.intValue == 1 }
            #expect(try await sluice.count(.executing) == 3)
            // Cancel by id: a query would also cover the fourth operation, which starts when these end.
            try await sluice.lines("cancel", ids[0], ids[1], ids[2], "--wait=180s")
            try await sluice.reaches("executing", ids[3])
            #expect(try await sluice.count(.executing) == 1)
            try await sluice.lines("cancel", ids[3], "--wait=180s")
            worker.send(SIGTERM)
            #expect(await worker.outcome().code == 0)
        }

        @Test("stop: the worker drains and ends with 0, and a new one of the same name starts as usual")
        func stop() async throws {
            let worker = try await start("w1", "--drain-timeout", "60s")
            let running = try await sluice.enqueue("sleep", "seconds:=2")
            try await sluice.begins(running)
            try await sluice.lines("workers", "stop", "w1")
            #expect(await worker.outcome().code == 0)
            #expect(try await sluice.state(running) == "finished")
            let again = try await start("w1")
            try await sluice.reaches("finished", try await sluice.enqueue("noop"))
            try await reaches("running", "w1")
            again.send(SIGTERM)
            #expect(await again.outcome().code == 0)
        }

        @Test("stop of all processes on one host: no process restarts, and the supervisor ends with 0")
        func supervised() async throws {
            let supervisor = try sluice.start(["worker", "-v", "--processes", "2", "--name", "pair"] + Self.lease)
            try await eventually("both are known") {
                try await sluice.snapshots().flatMap(\.workers).count == 2
            }
            let refused = try await sluice("workers", "stop", "--all")
            #expect(refused.code == 5)
            #expect(refused.errors.contains("stop for 2 workers"), "\(refused.errors)")
            let host = try #require(try await sluice.json("workers", "ls")["workers"]?.arrayValue?.first?["host"])
            try await sluice.lines("workers", "stop", "--host", try #require(host.stringValue), "-y")
            #expect(await supervisor.outcome().code == 0)
            let isGone = try await sluice.snapshots().flatMap(\.workers).isEmpty
            expectUnlessSlow("both processes have given up their leases", isGone)
        }

        @Test(
            "The first line of a worker has its name and id, and both find it; an ended worker is reported as ended"
        )
        func ended() async throws {
            let worker = try await start("w1")
            let end = try #require(worker.errors.firstMatch(of: /worker (w1 \S+) pid/)?.1)
            let id = try #require(try await shown(String(end))["id"]?.stringValue)
            #expect(try await shown(id)["name"]?.stringValue == "w1")
            worker.send(SIGTERM)
            #expect(await worker.outcome().code == 0)
            for verb in ["show", "quiet"] {
                let outcome = try await sluice("workers", verb, id)
                #expect(outcome.code == 3 && outcome.errors.contains("has ended"), "\(outcome.errors)")
                let short = try await sluice("workers", verb, String(id.suffix(6)))
                #expect(short.code == 3 && short.errors.contains("it may have ended"), "\(short.errors)")
            }
        }

        @Test("An unknown worker is refused with 3, a missing one with 64, and a read-only stop with 5")
        func refusals() async throws {
            _ = try await sluice.enqueue("noop")
            #expect(try await sluice("workers", "quiet", "w9").code == 3)
            #expect(try await sluice("workers", "quiet").code == 64)
            #expect(try await sluice("workers", "slots", "0", "w9").code == 64)
            #expect(try await sluice("workers", "stop", "w9", "--read-only").code == 5)
        }
    }
}
