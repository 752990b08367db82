import SluiceOperator
import Foundation
import Operations
import RedisClient
import TestSupport
import Testing

extension CommandLineTests {
    @Suite("events")
    struct EventFeedTests {
        private let sluice = CommandLine()

        private func objects(_ lines: String) -> [JSONValue] {
            lines.split(separator: "\n").compactMap { try? JSONValue(parsing: String($0)) }
        }

        /// The range of `from` and `to` of each object. The test has only one queue.
        private func numbers(_ lines: String) -> [ClosedRange<Int>] {
            objects(lines).compactMap { object in
                object["from"]?.intValue.flatMap { from in object["to"]?.intValue.map { from...$0 } }
            }
        }

        private func expectUnbroken(_ ranges: [ClosedRange<Int>]) {
            for (earlier, later) in zip(ranges, ranges.dropFirst()) {
                #expect(later.lowerBound == earlier.upperBound + 1, "\(ranges)")
            }
        }

        @Test("--since begins with stored cancels, by whom and why, then continues; every number comes once")
        func replay() async throws {
            let old = try await sluice.enqueue("noop")
            try await sluice.lines("cancel", old, "--reason", "not needed")
            let events = try sluice.start(["events", "--since", "1h"])
            try await eventually("the old cancel is printed") { events.output.contains("not needed") }
            let change = objects(events.output).compactMap { $0["change"]?.objectValue }.first
            #expect(change?["verb"]?.stringValue == "cancel")
            #expect(change?["by"]?.stringValue?.contains("@") == true)
            #expect(change?["detail"]?.stringValue == "not needed")
            let transition = try #require(objects(events.output).first?["transitions"]?.arrayValue?.first)
            #expect(transition["id"]?.stringValue == old)
            #expect(transition["name"]?.stringValue == "noop")
            #expect(transition["reason"]?.stringValue == "not needed")
            for _ in 0..<3 { try await sluice.lines("cancel", try await sluice.enqueue("noop")) }
            let last = try #require(try await sluice.snapshots().first?.eventSequence)
            try await eventually("it has caught up") { numbers(events.output).last?.upperBound == Int(last) }
            expectUnbroken(numbers(events.output))
            events.send(SIGTERM)
            #expect(await events.outcome().code == 0)
        }

        @Test("Lost messages are read from the stream, and those no longer stored come as a range")
        func lostMessages() async throws {
            let redis = try TestRedis.start()
            defer { redis.stop() }
            let sluice = CommandLine(redis.endpoint)
            let events = try sluice.start(["events"])
            try await eventually("it listens") {
                _ = try await sluice.enqueue("noop")
                return !events.output.isEmpty
            }
            for round in 0..<20 {
                for server in redis.servers { _ = try server.ask(RedisCommand("CLIENT", "KILL", "TYPE", "pubsub")) }
                let id = try await sluice.enqueue("noop")
                try await sluice.lines("cancel", id, "--reason", "round \(round)")
            }
            let last = try #require(try await sluice.snapshots().first?.eventSequence)
            try await eventually("it has caught up") { numbers(events.output).last?.upperBound == Int(last) }
            expectUnbroken(numbers(events.output))
            let reasons = objects(events.output).compactMap { $0["change"]?["detail"]?.stringValue }
            #expect(reasons == (0..<20).map { "round \($0)" })
            events.send(SIGTERM)
            _ = await events.outcome()
        }

        @Test("--changes shows pause, resume, cancel, retry and remove, and nothing else; --no-follow ends")
        func changes() async throws {
            let id = try await sluice.enqueue("noop")
            try await sluice.lines("queue", "pause", "default", "--for", "1h", "--reason", "server down")
            let queue = try JSONValue(parsing: try await sluice("queue", "show", "default", "-o", "json").output)
            #expect(queue["pause"]?["reason"]?.stringValue == "server down")
            #expect(try await sluice("queue", "show", "default").output.contains("server down"))
            try await sluice.lines("queue", "resume", "default")
            try await sluice.lines("cancel", id)
            try await sluice.lines("retry", id)
            try await sluice.lines("rm", id)
            let changes = try await sluice("events", "--changes", "--since", "1h", "--no-follow", "-o", "csv")
            #expect(changes.code == 0)
            let verbs = changes.output.split(separator: "\n").dropFirst().map {
                $0.split(separator: ",", omittingEmptySubsequences: false)[8]
            }
            #expect(verbs == ["pause", "resume", "cancel", "retry", "remove"], "\(changes.output)")
            let ids = try await sluice(
                "events",
                "state:cancelled",
                "id:\(id)",
                "--since",
                "1h",
                "--no-follow",
                "-o",
                "id"
            )
            #expect(ids.output == id + "\n")
            let other = try await sluice("events", "state:dead", "--since", "1h", "--no-follow")
            #expect(other.output.isEmpty, "\(other.output)")
        }

        @Test("Stored events of several queues come in the order of their times")
        func merged() async throws {
            let queues = ["a", "b", "c"]
            for queue in queues { _ = try await sluice.enqueue("noop", "-q", queue) }
            let expected = (0..<9).map { (queues[$0 % 3], "round \($0)") }
            for (queue, reason) in expected { try await sluice.lines("queue", "pause", queue, "--reason", reason) }
            let changes = try await sluice("events", "--changes", "--since", "1h", "--no-follow", "-o", "csv")
            let cells = changes.output.split(separator: "\n").dropFirst().map { $0.split(separator: ",") }
            #expect(cells.map { $0.last.map(String.init) } == expected.map(\.1), "\(changes.output)")
            #expect(cells.map { String($0[1]) } == expected.map(\.0), "\(changes.output)")
        }

        @Test("A change of one operation names it")
        func named() async throws {
            let id = try await sluice.enqueue("noop")
            _ = try await sluice.enqueue("noop")
            try await sluice.lines("hold", id, "--reason", "ask Ann")
            try await sluice.lines("release", id)
            let words = ["events", "--changes", "--since", "1h", "--no-follow", "-o"]
            let table = await (try sluice.start(words + ["table"])).outcome().output
            #expect(table.contains("\(id), ask Ann") && !table.contains("1 operation"), "\(table)")
            let ids = await (try sluice.start(words + ["id"])).outcome().output
            #expect(ids == "\(id)\n\(id)\n")
        }

        @Test("A change without a transition names its operation too: edit, removal, cancel of a running one")
        func namedWithoutTransition() async throws {
            let worker = try sluice.start(["worker"])
            let running = try await sluice.enqueue("sleep", "seconds:=600")
            try await sluice.reaches("executing", running)
            let (other, waiting) = (
                try await sluice.enqueue("noop", "--in", "1h"), try await sluice.enqueue("noop", "--in", "1h")
            )
            try await sluice.lines("edit", waiting, "-p", "high")
            try await sluice.lines("rm", waiting)
            try await sluice.lines("rm", other)
            try await sluice.lines("cancel", running)
            let words = ["events", "--changes", "--since", "1h", "--no-follow", "-o", "id"]
            #expect(
                await (try sluice.start(words)).outcome().output == "\(waiting)\n\(waiting)\n\(other)\n\(running)\n"
            )
            let found = await (try sluice.start(words + ["id:\(waiting)"])).outcome().output
            #expect(found == "\(waiting)\n\(waiting)\n")
            worker.send(SIGTERM)
            #expect(await worker.outcome().code == 0)
        }

        @Test("A filter that events do not have is refused, and so is --no-follow without --since")
        func usage() async throws {
            #expect(try await sluice("events", "name:noop").code == 64)
            #expect(try await sluice("events", "--no-follow").code == 64)
            #expect(try await sluice("events", "--since", "soon").code == 64)
        }
    }
}
