import Foundation
import Operations
import RedisClient
import TestSupport
import Testing

extension CommandLineTests {
    @Suite("refused subscriptions")
    struct RefusedSubscriptionTests {
        private let sluice: CommandLine
        private let server: TestServer

        init() throws {
            var options = TestServer.Options([
                "user deaf on >pw ~* &* +@all -subscribe", "user apart on >pw ~* resetchannels +@all",
                "user still on >pw ~* &* +@all -blpop -info -client|unblock -smembers",
            ])
            options.hasUsers = false
            server = try TestServer.start(options)
            sluice = CommandLine(server.endpoint)
        }

        private func url(_ user: String) -> [String: String] {
            ["SLUICE_REDIS_URL": "unix://\(user):pw@\(server.socketPath)"]
        }

        private static func count(_ text: String, in errors: String) -> Int { errors.split(separator: text).count - 1 }

        private static let isSlow = "cancels of running operations are noticed only by heartbeats"

        @Test(
            "A worker logs once what is slower and which rule is missing; its cancels come with heartbeats",
            arguments: [("deaf", "+subscribe"), ("apart", "'&{NAMESPACE/*'")]
        )
        func worker(user: String, rule: String) async throws {
            let worker = try await sluice.worker("-q", "default,mail,images", "--lease", "3s", environment: url(user))
            try await eventually("it warns") { worker.errors.contains(Self.isSlow) }
            let fix = "ACL SETUSER \(user) \(rule.replacing("NAMESPACE", with: sluice.namespace))"
            #expect(worker.errors.contains(fix), "\(worker.errors)")
            let id = try await sluice.enqueue("sleep", "seconds:=600")
            try await sluice.reaches("executing", id)
            try await sluice.lines("cancel", id)
            try await sluice.reaches("cancelled", id)
            // A new connection that is refused in the same way is not logged again; a wait on it gets an answer.
            let before = worker.errors
            try server.ask(RedisCommand("CLIENT", "KILL", "USER", user))
            try await eventually("it is back") {
                worker.errors.dropFirst(before.count).contains("subscriber connected")
            }
            let next = try await sluice.enqueue("noop")
            try await sluice.reaches("finished", next)
            #expect(Self.count(Self.isSlow, in: worker.errors) == 1, "\(worker.errors)")

            try server.ask(RedisCommand("ACL", "SETUSER", user, "+subscribe", "&*"))
            try server.ask(RedisCommand("CLIENT", "KILL", "USER", user))
            try await eventually("it says that it is over") {
                worker.errors.contains("cancels of running operations are noticed at once again")
            }
            worker.send(SIGTERM)
            #expect(await worker.outcome().code == 0)
        }

        @Test("A worker that may not use wake-up tokens, end a wait or read INFO says so once, works and stops")
        func otherCommands() async throws {
            let worker = try await sluice.worker("--lease", "3s", environment: url("still"))
            let isLate = "new operations are noticed only by heartbeats"
            try await eventually("it warns") { worker.errors.contains(isLate) }
            for _ in 0..<2 { try await sluice.reaches("finished", try await sluice.enqueue("noop")) }
            #expect(Self.count(isLate, in: worker.errors) == 1, "\(worker.errors)")
            let isBlind = "because Redis refuses INFO"
            try await eventually("it says so of INFO, too") { worker.errors.contains(isBlind) }
            #expect(Self.count(isBlind, in: worker.errors) == 1, "\(worker.errors)")
            worker.send(SIGTERM)
            #expect(await worker.outcome().code == 0)

            let all = try sluice.start(["worker", "-q", "*"], environment: url("still"))
            try await eventually("it warns") { all.errors.contains("new queues are not found") }
            try server.ask(RedisCommand("ACL", "SETUSER", "still", "+smembers"))
            try await eventually("it says that it is over") {
                all.errors.contains("new queues are found again")
            }
            all.send(SIGTERM)
            #expect(await all.outcome().code == 0)
        }

        @Test("A wait for a wake-up token ends at once, even if CLIENT UNBLOCK is refused")
        func unblocking() async throws {
            try server.ask(RedisCommand("ACL", "SETUSER", "still", "+blpop", "+info", "+smembers"))
            let worker = try await sluice.worker(environment: url("still"))
            try await eventually("it waits") {
                try server.ask(RedisCommand("CLIENT", "LIST"))[0].expectString().contains("cmd=blpop")
            }
            let start = ContinuousClock.now
            worker.send(SIGTERM)
            #expect(await worker.outcome().code == 0)
            // Otherwise the wait would end only after 30 s.
            expectPrompt("the end of the worker", since: start, promised: .seconds(5))
        }

        @Test("Without permission to subscribe, events fails with the missing rule; a wait warns and still ends")
        func reading() async throws {
            _ = try await sluice.enqueue("noop")
            for arguments in [["events"], ["events", "-q", "default"]] {
                let events = await (try sluice.start(arguments, environment: url("deaf"))).outcome()
                #expect(events.code == 77)
                #expect(events.errors.contains("NOPERM"), "\(events.errors)")
                #expect(events.errors.contains("redis-cli ACL SETUSER deaf +subscribe"), "\(events.errors)")
            }
            let worker = try await sluice.worker()
            let ended = try await sluice.enqueue("noop")
            try await sluice.reaches("finished", ended)
            let running = try await sluice.enqueue("sleep", "seconds:=600")
            let waiting = try sluice.start(["wait", ended, running], environment: url("deaf"))
            let isLate = "the end is noticed up to five seconds late"
            try await eventually("it says that it is slow") { waiting.errors.contains(isLate) }
            try await sluice.lines("cancel", running)
            let wait = await waiting.outcome()
            #expect(wait.code == 2, "\(wait.errors)")
            #expect(Self.count(isLate, in: wait.errors) == 1, "\(wait.errors)")
            #expect(wait.errors.contains("redis-cli ACL SETUSER deaf +subscribe"), "\(wait.errors)")
            worker.send(SIGTERM)
            #expect(await worker.outcome().code == 0)
        }

        @Test("Commands of a user who may not publish still work: a message is only a hint")
        func publishing() async throws {
            let id = try await sluice("enqueue", "noop", "-o", "id", "--quiet", environment: url("apart"))
            #expect(id.code == 0, "\(id.errors)")
            #expect(try await sluice("cancel", "--queue", "default", "-y", environment: url("apart")).code == 0)
            try await sluice.reaches("cancelled", id.output.trimmingCharacters(in: .whitespacesAndNewlines))
        }
    }
}
