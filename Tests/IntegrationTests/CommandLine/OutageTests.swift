import Foundation
import RedisClient
import TestSupport
import Testing

extension CommandLineTests {
    @Suite("a wait during an outage of Redis")
    struct OutageTests {
        /// So long that only a wait that gives up without Redis could end before the test
        private static let timeout = "30m"

        /// Returns the number of commands that wait for messages. Workers wait as well, and may connect late or again.
        private static func listeners(_ server: TestServer) throws -> Int {
            let list = try server.ask(RedisCommand("CLIENT", "LIST", "TYPE", "pubsub"))[0].expectString()
            return list.split(separator: "\n").count { !$0.contains(" name=sluice-worker") }
        }

        private func awaitWarning(of program: Program) async throws {
            try await eventually("the wait says that it goes on") { program.errors.contains("the wait goes on") }
        }

        @Test(
            "A wait continues until its own timeout",
            .enabled(if: TestRedis.isSingle, "the wait is the same on a cluster"),
            arguments: [
                ["wait", "ID", "--timeout", timeout], ["wait", "ID", "--for", "started", "--timeout", timeout],
                ["cancel", "ID", "--wait=\(timeout)"], ["group", "wait", "GROUP", "--timeout", timeout],
                ["enqueue", "sleep", "seconds:=600", "-p", "veryLow", "--wait=\(timeout)"],
            ]
        )
        func goesOn(arguments: [String]) async throws {
            let server = try TestServer.start(.durable)
            let sluice = CommandLine(server.endpoint)
            let worker = try await sluice.worker("-c", "1", "--cancel-grace", "30m", "--lease", "30m")
            let first = try await sluice.enqueue("sleep", "seconds:=600")
            try await sluice.begins(first)
            let second = try await sluice.enqueue("sleep", "seconds:=600", "--id", "second")
            let group = try #require(try await sluice.lines("group", "open", "batch", "-o", "id").first)
            try await sluice.lines("group", "add", group, second)
            try await sluice.lines("group", "close", group)
            let isOfCancel = arguments[0] == "cancel"
            let words = arguments.map { $0 == "ID" ? (isOfCancel ? first : second) : $0 == "GROUP" ? group : $0 }
            // The worker is frozen, so the cancel has to wait as well.
            if isOfCancel { worker.send(SIGSTOP) }
            let listeners = try Self.listeners(server)
            let waiting = try sluice.start(words)
            try await eventually("the command waits") { try Self.listeners(server) > listeners }
            server.signal(SIGSTOP)
            try await awaitWarning(of: waiting)
            #expect(!waiting.hasEnded)
            server.signal(SIGCONT)
            if isOfCancel { worker.send(SIGCONT) }
            try await sluice.lines("cancel", "--all", "-y", "--wait=180s")
            let outcome = await waiting.outcome()
            #expect(outcome.code == (isOfCancel ? 0 : 2), "\(outcome)")
            worker.send(SIGTERM)
            _ = await worker.outcome()
            server.stop()
        }

        @Test(
            "A wait ends at its own timeout, with the exit status of a timeout",
            .enabled(if: TestRedis.isSingle, "the wait is the same on a cluster")
        )
        func isOver() async throws {
            let server = try TestServer.start()
            let sluice = CommandLine(server.endpoint)
            let id = try await sluice.enqueue("noop")
            // So long that several reads fail before its end, and each of them takes up to ten seconds.
            let waiting = try sluice.start(["wait", id, "--timeout", "60s"])
            try await eventually("the command waits") { try Self.listeners(server) > 0 }
            server.signal(SIGSTOP)
            let outcome = await waiting.outcome()
            #expect(outcome.code == 4 && outcome.errors.contains("Redis does not answer"), "\(outcome)")
            server.signal(SIGCONT)
            server.stop()
        }
    }
}
