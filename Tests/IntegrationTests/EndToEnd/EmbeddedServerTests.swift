import Foundation
import TestSupport
import Testing

@Suite(
    "The embedded server",
    .fewAtOnce,
    .enabled(if: TestRedis.isSingle, "it is one server"),
    .timeLimit(.minutes(60))
)
struct EmbeddedServerTests {
    /// The settings of a user who named no Redis.
    private func settings(_ installation: Installation) -> [String: String] {
        var environment = installation.environment
        environment["SLUICE_REDIS_URL"] = ""
        environment["REDIS_URL"] = ""
        return environment
    }

    @Test(
        "Five commands at once start one server, one says so, and `redis stop` leaves no socket and no process"
    )
    func oneServer() async throws {
        let installation = try Installation()
        let environment = settings(installation)
        let outcomes = try await withThrowingTaskGroup { group in
            for number in 1...5 {
                group.addTask {
                    try await Program.run(
                        "sluice",
                        ["enqueue", "noop", "n:=\(number)", "-o", "id"],
                        environment: environment
                    )
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes.allSatisfy { $0.code == 0 }, "\(outcomes)")
        #expect(outcomes.count { $0.errors.contains("started") } == 1, "\(outcomes.map(\.errors))")

        let status = try await Program.run("sluice", ["redis", "status", "-o", "json"], environment: environment)
        struct Status: Decodable { var running: Bool, pid: Int32?, url: String }
        let running = try JSONDecoder().decode(Status.self, from: Data(status.output.utf8))
        #expect(status.code == 0)
        let pid = try #require(running.pid)
        #expect(isAlive(pid))
        let list = try await Program.run("sluice", ["list", "-o", "id"], environment: environment)
        #expect(list.output.split(whereSeparator: \.isNewline).count == 5)

        let stop = try await Program.run("sluice", ["redis", "stop"], environment: environment)
        #expect(stop.code == 0)
        #expect(!isAlive(pid))
        let socket = running.url.replacingOccurrences(of: "unix://", with: "")
        #expect(socket.hasPrefix("/"))
        #expect(!FileManager.default.fileExists(atPath: socket))
        let stopped = try await Program.run("sluice", ["redis", "status"], environment: environment)
        #expect(stopped.code == 3)
    }

    @Test("Enqueued operations are still there after a stop and a start")
    func durable() async throws {
        let installation = try Installation()
        let environment = settings(installation)
        let first = try await Program.run(
            "sluice",
            ["enqueue", "noop", "-o", "id", "--quiet"],
            environment: environment
        )
        #expect(first.code == 0)
        #expect(try await Program.run("sluice", ["redis", "stop"], environment: environment).code == 0)
        let list = try await Program.run("sluice", ["list", "-o", "id"], environment: environment)
        #expect(list.output == first.output)
        #expect(try await Program.run("sluice", ["redis", "stop"], environment: environment).code == 0)
        let again = try await Program.run("sluice", ["redis", "stop"], environment: environment)
        #expect(again.code == 0)
    }
}
