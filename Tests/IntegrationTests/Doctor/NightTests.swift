import Foundation
import Operations
import TestSupport
import Testing

extension CommandLineTests {
    @Suite("The view of an operator at night")
    struct NightTests {
        private let sluice = CommandLine()

        private func enqueue(_ count: Int, queue: String, _ fields: String = "") async throws {
            let folder = try TemporaryDirectory()
            let line = #"{"name":"noop","queue":"\#(queue)"\#(fields)}"#
            let path = try folder.file("noops.jsonl", Array(repeating: line, count: count).joined(separator: "\n"))
            try await sluice.lines("enqueue", "--batch", path, "--quiet")
        }

        private func finding(_ code: String) async throws -> JSONValue? {
            try await sluice.json("doctor")["findings"]?.arrayValue?.first { $0["code"]?.stringValue == code }
        }

        @Test("doctor names stuck operations with reasons, most first; resuming the worker ends one of them")
        func stuck() async throws {
            let mail = try await sluice.worker("-q", "mail", "--lease", "60s")
            let mailer = try await sluice.lines("workers", "ls", "-o", "id")[0]
            try await sluice.lines("workers", "quiet", mailer)
            try await sluice.awaitPhase("quiet", ofWorkersOf: "mail")
            let billing = try await sluice.worker("-q", "billing", "--lease", "60s")
            try await enqueue(30, queue: "mail")
            try await sluice.lines("queue", "limit", "billing", "rate=1/1m")
            try await enqueue(90, queue: "billing")
            let dead = try await sluice.enqueue("fail", "--queue", "other", "--attempts", "1")
            let waiting = try await sluice.enqueue("noop", "--queue", "other", "--after", "\(dead):hold")
            let other = try await sluice.worker("-q", "other", "--lease", "60s")
            try await eventually("the dependency is dead") { try await sluice.state(dead) == "dead" }

            try await eventually("the worker is quiet") { try await finding("workersQuiet") != nil }
            let found = try await sluice.json("doctor")["findings"]?.arrayValue ?? []
            let codes: Set = ["slow", "workersQuiet", "neverStarts"]
            let stuck = found.filter { codes.contains($0["code"]?.stringValue ?? "") }
            #expect(
                stuck.compactMap { $0["code"]?.stringValue } == ["slow", "workersQuiet", "neverStarts"],
                "\(stuck)"
            )
            #expect(
                stuck.first?["message"]?.stringValue?.contains("at the limit of the queue, rate 1/1m") == true,
                "\(stuck)"
            )
            #expect(stuck.last?["message"]?.stringValue?.contains(waiting) == true, "\(stuck)")
            let fix = try #require(stuck[1]["fix"]?.stringValue)
            #expect(fix.hasPrefix("sluice workers resume "))
            let words = fix.split(separator: " ").dropFirst().map(String.init)
            #expect(await (try sluice.start(words)).outcome().code == 0, "\(fix)")
            try await eventually("the queue is empty") { try await finding("workersQuiet") == nil }
            for worker in [mail, billing, other] {
                worker.send(SIGTERM)
                _ = await worker.outcome()
            }
        }

        @Test("doctor names a worker whose clock is off")
        func clock() async throws {
            let worker = WorkerID()
            // Connects before the first time is taken.
            _ = try await sluice.broker.queues()
            for (ahead, isOff) in [(Int64(0), false), (3_600_000, true), (-3_600_000, true)] {
                let now = Int64(Date().timeIntervalSince1970 * 1000)
                var info = WorkerInfo(
                    host: "h1",
                    pid: 1,
                    name: "w1",
                    slots: 1,
                    queues: ["mail"],
                    handles: [],
                    version: "1",
                    startedAt: now
                )
                info.clock = now + ahead
                let beat = Beat(
                    worker: worker,
                    epoch: 1,
                    leaseMilliseconds: 3_600_000,
                    intervalMilliseconds: 5000,
                    info: info.encoded()
                )
                _ = try sluice.broker.beat(beat, queue: "mail")
                let message = try await finding("workerClock")?["message"]?.stringValue
                #expect((message != nil) == isOff, "\(message ?? "")")
                guard let message else { continue }
                #expect(message.hasPrefix("the clock of worker w1 on h1 is "), "\(message)")
                #expect(message.contains(ahead > 0 ? " ahead of that of Redis" : " behind that of Redis"), "\(message)")
            }
        }

        @Test("explain estimates the start by the rate of a limit key")
        func keyRate() async throws {
            let worker = try await sluice.worker("-q", "mail", "--lease", "10m")
            // One starts each ten minutes, so during the test the answer stays the same: eleven intervals.
            try await sluice.lines("queue", "limit", "mail", "key.rate=6/1h")
            try await enqueue(12, queue: "mail", #","limitKey":"a""#)
            try await eventually("the burst has started") { try await sluice.count(.finished) >= 1 }
            let last = try #require(try await sluice.lines("list", "state:ready", "-o", "id").last)
            let explained = try await sluice.json("explain", last)
            let seconds = explained["estimatedStartSeconds"]?.intValue ?? 0
            #expect((6000...6600).contains(seconds), "\(explained)")
            #expect(try await sluice("explain", last).output.contains("the rate of key a"))
            worker.send(SIGTERM)
            _ = await worker.outcome()
        }

        #if DEBUG
            @Test("Relative times use the clock of Redis, whatever this machine's clock says")
            func clocks() async throws {
                let id = try await sluice.enqueue("noop", "--in", "300s")
                try await sluice.lines("schedule", "add", "nightly", "noop", "--every", "4m")
                for ahead in ["3600000", "-3600000"] {
                    let environment = ["SLUICE_CLOCK_AHEAD": ahead]
                    for command in [["show", id], ["list"], ["schedule", "ls"], ["schedule", "preview", "nightly"]] {
                        let shown = await (try sluice.start(command, environment: environment)).outcome()
                        // No time shown here is close to an hour away.
                        let isOff = shown.output.contains(/\b(1h|5\dm)/)
                        #expect(shown.code == 0 && !isOff, "\(command): \(shown.output)")
                    }
                }
            }
        #endif
    }
}
