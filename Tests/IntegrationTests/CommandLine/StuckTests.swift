import Foundation
import Operations
import TestSupport
import Testing

extension CommandLineTests {
    /// Tests with the operation `test.spin` of `worker-fixture`, which computes and never yields its thread.
    @Suite("stuck operations")
    struct StuckTests {
        private let sluice = CommandLine()

        private func spin(_ seconds: Int, runTimeout: String = "200ms") async throws -> String {
            try await sluice.enqueue("test.spin", "seconds:=\(seconds)", "--run-timeout", runTimeout)
        }

        private func error(_ id: String) async throws -> String? {
            try await sluice.detail(id)?.errors.last.map { String(decoding: $0.error, as: UTF8.self) }
        }

        @Test(
            "--stuck free: dead, the slot is free, the worker counts running stuck bodies, and refuses their writes"
        )
        func free() async throws {
            let worker = try await sluice.worker("-c", "1", "--cancel-grace", "100ms", program: "worker-fixture")
            // So long that even on a slow machine the worker reports the body while it runs.
            let id = try await spin(150)
            try await sluice.reaches("dead", id)
            #expect(try await error(id)?.contains(#""type":"stuck""#) == true)
            try await eventually("the worker reports it") {
                try await sluice.json("workers", "ls")["workers"]?.arrayValue?.first?["stuck"]?.intValue == 1
            }
            try await sluice.reaches("finished", try await sluice.enqueue("noop"))
            try await eventually("the body returns") {
                worker.errors.contains("a stuck body has returned")
            }
            let record = try await sluice.json("show", id)
            #expect(record["state"]?.stringValue == "dead" && record["attempt"]?.intValue == 1)
            #expect(record["result"]?.isNull != false && record["progress"]?["message"]?.stringValue != "after its end")
            worker.send(SIGTERM)
            #expect(await worker.outcome().code == 0)
        }

        /// Starts a worker whose threads are all held for ten minutes by bodies that never yield.
        private func blockedWorker(_ options: String...) async throws -> Program {
            let threads = ProcessInfo.processInfo.activeProcessorCount
            let worker = try sluice.start(
                ["worker", "-v", "-c", "\(threads)", "--cancel-grace", "100ms", "--lease", "10m"] + options,
                program: "worker-fixture"
            )
            for _ in 0..<threads { _ = try await sluice.enqueue("test.spin", "seconds:=600") }
            // Wait until all bodies have begun: a draining worker gives unstarted operations back at once.
            try await eventually("all threads compute") {
                worker.errors.components(separatedBy: " started ").count == threads + 1
            }
            return worker
        }

        @Test("--stuck free, every thread held: after SIGTERM the process ends once its drain timeout is over")
        func blockedDrain() async throws {
            let worker = try await blockedWorker("--drain-timeout", "500ms")
            let begin = ContinuousClock.now
            worker.send(SIGTERM)
            let end = await worker.outcome()
            #expect(end.code == 75 && end.errors.contains("the drain cannot end"), "\(end.code) \(end.errors)")
            expectPrompt("the end of a blocked worker", since: begin, promised: .milliseconds(2600))
        }

        @Test("--stuck free, every thread held: after a second SIGTERM the process ends within two seconds")
        func blockedTwice() async throws {
            let worker = try await blockedWorker("--drain-timeout", "10m")
            worker.send(SIGTERM)
            try await eventually("the first signal is heard") { worker.errors.contains("draining") }
            let begin = ContinuousClock.now
            worker.send(SIGTERM)
            let end = await worker.outcome()
            #expect(end.code == 143, "\(end.code) \(end.errors)")
            expectPrompt("the end of a blocked worker that was told twice", since: begin, promised: .seconds(2))
        }

        @Test("--stuck replace: the worker drains and exits with 75, although the body still computes")
        func replace() async throws {
            let worker = try await sluice.worker(
                "-c",
                "1",
                "--cancel-grace",
                "100ms",
                "--stuck",
                "replace",
                program: "worker-fixture"
            )
            let id = try await spin(600)
            try await sluice.reaches("dead", id)
            let end = await worker.outcome()
            #expect(end.code == 75 && end.errors.contains("replacing this process"), "\(end.code) \(end.errors)")
        }

        @Test("--stuck replace, every thread held: the process exits at once, and its successor takes over")
        func blocked() async throws {
            let threads = ProcessInfo.processInfo.activeProcessorCount
            // All are claimed at once, and have time to begin: a free thread would end the first one before the last
            // one holds it.
            var ids: [String] = []
            for _ in 0..<threads { ids.append(try await spin(600, runTimeout: "15s")) }
            let supervisor = try sluice.start(
                [
                    "worker", "-v", "--processes", "1", "-c", "\(threads)", "--cancel-grace", "100ms",
                    "--lease", "10m", "--stuck", "replace",
                ],
                program: "worker-fixture"
            )
            try await eventually("its successor runs it") {
                try await sluice.detail(ids[0])?.record.header.delivery ?? 0 >= 2
            }
            supervisor.send(SIGTERM)
            supervisor.send(SIGTERM)
            let end = await supervisor.outcome()
            #expect(end.errors.contains("end=\"exit 75\""), "\(end.errors)")
            #expect(end.errors.contains("recovered the operations of a dead worker"), "\(end.errors)")
        }
    }
}
