import Operations
import TestSupport
import Testing

extension CommandLineTests {
    @Suite("Statistics over time")
    struct StatisticsTests {
        private let sluice = CommandLine()

        /// The number of finished operations that `stats --since` shows. A worker with a lease of 3 s sends it every
        /// second.
        private func finished() async throws -> Int {
            try await sluice.json("stats", "--since", "1h")["queues"]?[0]?["finished"]?.intValue ?? 0
        }

        @Test("stats --since and top show what a worker has counted")
        func shown() async throws {
            for number in 0..<6 { _ = try await sluice.enqueue("noop", "-q", number < 4 ? "mail" : "images") }
            for _ in 0..<2 { _ = try await sluice.enqueue("fail", "message=no", "--attempts", "1", "-q", "mail") }
            _ = try await sluice.enqueue("sleep", "seconds:=5", "-q", "mail")
            // A draining worker sends the counts that no heartbeat has sent.
            let worker = await (try sluice.start(["worker", "-q", "mail,images", "--burst"])).outcome()
            #expect(worker.code == 0, "\(worker.errors)")
            for _ in 0..<3 { _ = try await sluice.enqueue("noop", "-q", "mail") }

            let stats = try await sluice.json("stats", "--since", "1h")
            #expect(stats["queues"]?.arrayValue?.map { $0["queue"]?.stringValue } == ["images", "mail"])
            let mail = try #require(stats["queues"]?[1])
            #expect(
                ["started", "finished", "failed", "retried", "waiting"].map { mail[$0]?.intValue } == [7, 5, 2, 0, 3]
            )
            #expect(mail["run"]?["count"]?.intValue == 7 && mail["wait"]?["count"]?.intValue == 7)
            #expect(mail["errorRate"] == 0.286 && mail["trend"]?.stringValue != nil)
            let one = try await sluice("stats", "--since", "1h", "-q", "images", "-o", "csv")
            #expect(one.output.hasPrefix("queue,started,finished,failed,retried,error_rate,wait_p50_ms,"), "\(one)")
            #expect(one.output.contains("\nimages,2,2,0,0,0,"))

            let names = try #require(try await sluice.json("top", "names")["names"]?.arrayValue)
            #expect(names.map { $0["name"]?.stringValue } == ["noop", "fail", "sleep"])
            #expect(names.map { $0["count"]?.intValue } == [6, 2, 1])
            let sleep = try #require(names.last?["run"])
            #expect(sleep["p50Milliseconds"]?.doubleValue ?? 0 >= 4500, "\(sleep)")
            #expect(try await sluice.lines("top", "names", "--sort", "errors", "--limit", "1", "-o", "id") == ["fail"])
            let byTotal = try await sluice.lines("top", "names", "--sort", "total", "-q", "mail", "-o", "id")
            #expect(byTotal.first == "sleep")
            #expect(try await sluice.lines("top", "queues", "-o", "id") == ["mail", "images"])
            #expect(try await sluice.lines("top", "names", "--compare", "24h", "-o", "csv").count == 4)
            #expect(try await sluice.json("doctor", "--deep")["errors"]?.intValue == 0)
        }

        @Test("A killed worker loses at most the counts since its last heartbeat")
        func killed() async throws {
            let worker = try await sluice.worker("--lease", "3s")
            for _ in 0..<3 { try await sluice.reaches("finished", try await sluice.enqueue("noop")) }
            try await eventually("a heartbeat has brought them") { try await finished() == 3 }
            try await sluice.reaches("finished", try await sluice.enqueue("noop"))
            worker.send(9)
            _ = await worker.outcome()
            let left = try await finished()
            #expect((3...4).contains(left))

            let next = try await sluice.worker("--lease", "3s")
            try await sluice.reaches("finished", try await sluice.enqueue("noop"))
            next.send(15)
            #expect(await next.outcome().code == 0)
            #expect(try await finished() == left + 1)
        }

        @Test("Times that are not stored are refused, and options that exclude each other")
        func refused() async throws {
            for (arguments, word) in [
                (["stats", "--since", "31d"], "30 days"), (["stats", "-q", "mail"], "--since"),
                (["top", "names", "--since", "2d", "--compare", "1d"], "overlap"),
                (["top", "names", "--sort", "change"], "--compare"),
                (["top", "queues", "--sort", "change"], "top names"),
                (["top", "names", "--limit", "0"], "at least 1"),
            ] {
                let outcome = await (try sluice.start(arguments)).outcome()
                #expect(outcome.code == 64 && outcome.errors.contains(word), "\(arguments): \(outcome)")
            }
            #expect(try await sluice("top", "names", "-q", "none").code == 3)
        }
    }
}
