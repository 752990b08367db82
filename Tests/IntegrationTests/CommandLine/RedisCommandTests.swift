import Foundation
import Operations
import TestSupport
import Testing

extension CommandLineTests {
    @Suite("the embedded server", .enabled(if: TestRedis.isSingle, "it is one server"))
    struct RedisCommandTests {
        @Test("The first command starts the server and says so once; others share it, and a stop leaves no trace")
        func life() async throws {
            let folder = try makeTemporaryFolder()
            let environment = ["SLUICE_STATE_DIR": folder, "SLUICE_REDIS_URL": "", "REDIS_URL": ""]
            func sluice(_ arguments: String...) async throws -> Program.Outcome {
                try await Program.run("sluice", arguments, environment: environment)
            }
            #expect(try await sluice("redis", "status").code == 3)
            #expect(try await sluice().output.contains("the embedded Redis does not run"))
            let first = try await sluice("enqueue", "noop", "--quiet")
            let second = try await sluice("enqueue", "noop")
            #expect(first.code == 0 && second.code == 0)
            #expect(!second.errors.contains("started the embedded Redis"))
            let status = try JSONValue(parsing: try await sluice("redis", "status", "-o", "json").output)
            #expect(status["running"] == true)
            #expect(
                try JSONValue(parsing: try await sluice("stats", "-o", "json").output)["counts"]?["ready"]?.intValue
                    == 2
            )
            #expect(try await sluice("redis", "stop").code == 0)
            #expect(try await sluice("redis", "stop").code == 0)
            let rest = try FileManager.default.subpathsOfDirectory(atPath: folder).filter { $0.hasSuffix(".sock") }
            #expect(rest.isEmpty)
            let again = try await sluice("stats", "-o", "json")
            #expect(again.errors.contains("started the embedded Redis"))
            #expect(try JSONValue(parsing: again.output)["counts"]?["ready"]?.intValue == 2)
            #expect(try await sluice("redis", "stop").code == 0)
        }

        @Test("redis stop asks while a worker uses the server, and names what runs; -y stops it")
        func used() async throws {
            let folder = try makeTemporaryFolder()
            let environment = ["SLUICE_STATE_DIR": folder, "SLUICE_REDIS_URL": "", "REDIS_URL": ""]
            func sluice(_ arguments: String...) async throws -> Program.Outcome {
                try await Program.run("sluice", arguments, environment: environment)
            }
            #expect(try await sluice("enqueue", "sleep", "seconds:=600", "--quiet").code == 0)
            let worker = try Program("sluice", ["worker"], environment: environment)
            try await eventually("it runs") { try await sluice("list", "state:executing", "-o", "id").output != "" }
            let refused = try await sluice("redis", "stop")
            #expect(refused.code == 5, "\(refused)")
            #expect(refused.errors.contains("1 worker and 1 executing operation"), "\(refused.errors)")
            #expect(try await sluice("redis", "status").code == 0)
            #expect(try await sluice("redis", "stop", "-y").code == 0)
            #expect(try await sluice("redis", "status").code == 3)
            worker.send(SIGKILL)
            _ = await worker.outcome()
        }

        @Test("Without redis-server a command exits with 69 and names the program")
        func missing() async throws {
            let folder = try makeTemporaryFolder()
            let environment = [
                "SLUICE_STATE_DIR": folder, "SLUICE_REDIS_URL": "", "REDIS_URL": "",
                "SLUICE_REDIS_SERVER": "/no/such/program",
            ]
            let outcome = try await Program.run("sluice", ["stats"], environment: environment)
            #expect(outcome.code == 69)
            #expect(outcome.errors.contains("/no/such/program"), "\(outcome.errors)")
        }
    }
}
