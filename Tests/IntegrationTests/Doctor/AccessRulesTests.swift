import Operations
import RedisBroker
import RedisClient
import TestSupport
import Testing

extension CommandLineTests {
    @Suite("access rules")
    struct AccessRulesTests {
        private static let password = "p4ss"
        private let redis: TestRedis
        private let namespace = uniqueNamespace("acl")

        init() throws { redis = try TestRedis.start(withUsers: false) }

        /// Creates the users that `config acl` prints.
        private func makeUsers() async throws {
            let outcome = try await Program.run("sluice", ["config", "acl", "-N", namespace])
            #expect(outcome.code == 0, "\(outcome.errors)")
            for line in outcome.output.split(separator: "\n") {
                var command = RedisCommand("ACL", "SETUSER")
                for word in line.split(separator: " ").dropFirst() {
                    command.append(word == ">PASSWORD" ? ">" + Self.password : String(word))
                }
                for server in redis.servers { try server.ask(command)[0].expectSuccess() }
            }
        }

        private func start(_ role: RedisRole, _ arguments: [String]) throws -> Program {
            let url = redis.url(user: "sluice-\(role.rawValue)", password: Self.password)
            return try Program(
                "sluice",
                arguments,
                environment: ["SLUICE_REDIS_URL": url, "SLUICE_NAMESPACE": namespace, "NO_COLOR": "1"]
            )
        }

        @discardableResult
        private func sluice(_ role: RedisRole, _ arguments: String..., code: Int32 = 0) async throws -> String {
            let outcome = await (try start(role, arguments)).outcome()
            #expect(outcome.code == code, "\(role) \(arguments): \(outcome.errors)")
            return outcome.output
        }

        @Test("Each role does its work under its rules, and the ACL log of Redis stays empty")
        func roles() async throws {
            try await makeUsers()
            let worker = try start(.worker, ["worker", "-c", "4", "-v"])
            let done = try await sluice(.producer, "enqueue", "noop", "--wait", "-o", "id").split(separator: "\n")
            #expect(done.count == 1)
            try await sluice(.producer, "enqueue", "noop", "--in", "1s", "--expires", "1h", "--wait")
            try await sluice(.producer, "enqueue", "noop", "--no-track")
            let dead = try await sluice(.producer, "enqueue", "fail", "--attempts", "1", "--wait", "-o", "id", code: 1)
            let running = try await sluice(.producer, "enqueue", "sleep", "seconds:=600", "-o", "id")
            let id = String(running.split(separator: "\n")[0])
            try await eventually("the monitor shows it") {
                try await sluice(.monitor, "monitor", "--once").contains("sleep")
            }
            let waiting = try await sluice(.producer, "enqueue", "unknown-name", "--quiet", "-o", "id")
            let group = String(try await sluice(.producer, "group", "open", "nightly").dropLast())
            for queue in ["default", "mail"] {
                try await sluice(.producer, "enqueue", "noop", "--group", group, "-q", queue, "--quiet")
            }
            let member = try await sluice(.producer, "enqueue", "noop", "--in", "1h", "-q", "mail", "--quiet")
            try await sluice(.producer, "enqueue", "noop", "--on-end", group, "--quiet")
            try await sluice(.producer, "group", "add", group, String(member.dropLast()))
            try await sluice(.producer, "group", "close", group)
            try await sluice(.producer, "group", "wait", group, "--timeout", "1ms", code: 4)
            let reading = [
                ["group", "ls"], ["group", "show", group],
                ["stats"], ["list"], ["workers", "ls"], ["queue", "ls"], ["show", id], ["logs", id], ["explain", id],
                ["stats", "--since", "1h"], ["top", "names", "--compare", "24h"], ["top", "queues"],
                ["explain", String(waiting.split(separator: "\n")[0])],
            ]
            for arguments in reading {
                let outcome = await (try start(.monitor, arguments)).outcome()
                #expect(outcome.code == 0, "\(arguments): \(outcome.errors)")
            }
            try await sluice(.operator, "group", "cancel", group, "-y")
            try await sluice(.operator, "cancel", id, "--wait=180s")
            try await sluice(.operator, "cancel", "-t", "stopped", "--until", "10m", "-y")
            let caught = try await sluice(.producer, "enqueue", "noop", "-t", "stopped", "--wait", "-o", "id", code: 2)
            #expect(try await sluice(.monitor, "cancels", "ls", "-o", "csv").contains(",1,"), "\(caught)")
            try await sluice(.operator, "cancels", "rm", "--all")
            let forced = try await sluice(.producer, "enqueue", "sleep", "seconds:=600", "-o", "id").split(
                separator: "\n"
            )
            try await sluice(.operator, "cancel", String(forced[0]), "--force")
            try await sluice(.operator, "retry", String(dead.split(separator: "\n")[0]))
            try await sluice(.operator, "queue", "pause", "default")
            try await sluice(.operator, "queue", "resume", "default")
            try await sluice(.operator, "cancel", "--all", "-y")
            try await sluice(.operator, "doctor", "--deep")
            worker.send(15)
            let end = await worker.outcome()
            #expect(end.code == 0, "\(end.errors)")
            for server in redis.servers {
                let log = try server.ask(RedisCommand("ACL", "LOG"))[0].expectArray()
                #expect(log.isEmpty, "\(log)")
            }
        }

        @Test("A monitor cannot write, even by a script; a producer cannot claim; no user sees another namespace")
        func refusals() async throws {
            try await makeUsers()
            try await sluice(.producer, "enqueue", "noop", "--quiet")
            try await sluice(.monitor, "cancel", "--queue", "default", "-y", code: 77)
            try await sluice(.monitor, "enqueue", "noop", code: 77)
            try await sluice(.monitor, "stats", "-N", "other", code: 77)
            #expect(!RedisRole.producer.rules(namespace: namespace).contains("+lpop"), "a claim begins with LPOP")
            #expect(try await sluice(.monitor, "stats", "-o", "json").contains(#""ready": 1"#))
        }
    }
}
