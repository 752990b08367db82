import Operations
import RedisClient
import TestSupport
import Testing

/// A reason why a server refuses writes, and the finding that the tools report for it
private struct Refusal: Sendable, CustomTestStringConvertible {
    let cause: String
    /// The beginning of the reported reason
    let reason: String
    let commands: [[String]]

    var testDescription: String { cause }

    static let all = [
        Refusal(
            cause: "noReplicas",
            reason: "Redis takes no writes: min-replicas-to-write is ",
            commands: [["CONFIG", "SET", "min-replicas-to-write", "1"]]
        ),
        Refusal(
            cause: "replica",
            reason: "Redis takes no writes: it is a replica of 127.0.0.1:1",
            commands: [["REPLICAOF", "127.0.0.1", "1"]]
        ),
        Refusal(
            cause: "full",
            reason: "Redis takes no new operations: its memory is full",
            commands: [["CONFIG", "SET", "maxmemory", "1"]]
        ),
    ]
}

extension CommandLineTests {
    @Suite("A server that takes no writes")
    struct WriteRefusalTests {
        @Test(
            "explain, doctor, stats and monitor report refused writes with reason and fix",
            .enabled(if: TestRedis.isSingle, "it changes a server of its own"),
            arguments: Refusal.all
        )
        private func named(_ refusal: Refusal) async throws {
            let server = try TestServer.start()
            let sluice = CommandLine(server.endpoint)
            let id = try await sluice.lines("enqueue", "noop", "--queue", "mail")[0]
            for words in refusal.commands {
                var command = RedisCommand(words[0])
                for word in words.dropFirst() { command.append(word) }
                try server.ask(command)[0].expectSuccess()
            }
            let explained = try await sluice("explain", id).output
            #expect(explained.contains(refusal.reason), "\(explained)")

            let doctor = try await sluice("doctor", "-o", "json")
            #expect(doctor.code == 1)
            let finding = try JSONValue(parsing: doctor.output)["findings"]?.arrayValue?.first {
                $0["code"]?.stringValue == refusal.cause
            }
            #expect(finding?["severity"] == "error", "\(doctor.output)")
            #expect(finding?["message"]?.stringValue?.hasPrefix(refusal.reason) == true, "\(doctor.output)")
            #expect(finding?["fix"]?.stringValue?.isEmpty == false)

            let stats = try await sluice("stats", "-o", "json")
            #expect(try JSONValue(parsing: stats.output)["writeRefusals"]?[0]?["cause"]?.stringValue == refusal.cause)
            #expect(stats.errors.contains(refusal.reason), "\(stats.errors)")
            let monitor = try await sluice("monitor", "--once")
            #expect(monitor.errors.contains(refusal.reason), "\(monitor.errors)")
        }
    }
}
