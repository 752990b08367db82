import Foundation
import Operations
import TestSupport
import Testing

extension CommandLineTests {
    @Suite("health")
    struct HealthTests {
        @Test(
            "--health PORT: always live; ready while Redis answers, otherwise 503 with the reason, then ready again",
            .enabled(if: TestRedis.isSingle, "it is about a server that is stopped")
        )
        func port() async throws {
            let server = try TestServer.start(.durable)
            let sluice = CommandLine(server.endpoint)
            let worker = try await sluice.worker("--lease", "3s", "--health", "0")
            let found = try #require(worker.errors.firstMatch(of: /http:\/\/127\.0\.0\.1:(\d+)\//)?.1)
            let port = try #require(Int(found))
            func ready() throws -> (status: Int, reason: String) {
                let answer = try HTTPProbe.get(port: port, "/ready")
                let object = try JSONValue(parsing: String(decoding: answer.body, as: UTF8.self))
                #expect(object["ready"]?.boolValue == (answer.status == 200))
                return (answer.status, object["reason"]?.stringValue ?? "")
            }
            try await eventually("it is ready") { try ready() == (200, "waiting for operations") }
            #expect(try HTTPProbe.get(port: port, "/").status == 404)
            #expect(try HTTPProbe.get(port: port, "/ready", method: "POST").status == 405)
            // A frozen Redis: it answers nothing, but no connection breaks.
            server.signal(SIGSTOP)
            try await eventually("it is not ready, and says why") {
                let answer = try ready()
                return answer.status == 503 && answer.reason.hasPrefix("Redis has not answered for")
            }
            #expect(try HTTPProbe.get(port: port, "/live").status == 200)
            server.signal(SIGCONT)
            try await eventually("it is ready again") { try ready().status == 200 }
            worker.send(SIGTERM)
            #expect(await worker.outcome().code == 0)
        }

        @Test("--health FILE: always a complete JSON object, fresh, and removed with the worker")
        func file() async throws {
            let folder = try TemporaryDirectory()
            let sluice = CommandLine()
            let worker = try await sluice.worker("--health", folder.path("health.json"))
            func read() throws -> JSONValue {
                try JSONValue(parsing: String(contentsOfFile: folder.path("health.json"), encoding: .utf8))
            }
            try await eventually("it is ready") { try read()["ready"]?.boolValue == true }
            let first = try #require(try read().milliseconds("time"))
            try await eventually("it is written again") { try read().milliseconds("time").map { $0 > first } ?? false }
            // A second file exists while the worker writes.
            try await eventually("nothing is left beside it") {
                try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == ["health.json"]
            }
            worker.send(SIGTERM)
            #expect(await worker.outcome().code == 0)
            #expect(!FileManager.default.fileExists(atPath: folder.path("health.json")))
        }

        @Test("--health FILE replaces only a regular file, also through a link, and keeps its mode")
        func place() async throws {
            let folder = try TemporaryDirectory()
            let sluice = CommandLine()
            #expect(mkfifo(folder.path("fifo"), 0o600) == 0)
            #expect(symlink("/dev/null", folder.path("null")) == 0)
            for name in ["fifo", "null"] {
                let outcome = try await sluice("worker", "--burst", "--health", folder.path(name))
                #expect(outcome.code == 78 && outcome.errors.contains("regular file"), "\(outcome.errors)")
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).sorted() == ["fifo", "null"])
            #expect(symlink("real.json", folder.path("link.json")) == 0)
            try Data("old".utf8).write(to: URL(fileURLWithPath: folder.path("real.json")))
            #expect(chmod(folder.path("real.json"), 0o600) == 0)
            let worker = try await sluice.worker("--health", folder.path("link.json"))
            try await eventually("it is written") {
                try JSONValue(parsing: String(contentsOfFile: folder.path("real.json"), encoding: .utf8))["ready"]?
                    .boolValue == true
            }
            var state = stat()
            #expect(stat(folder.path("real.json"), &state) == 0 && state.st_mode == S_IFREG | 0o600)
            worker.send(SIGTERM)
            #expect(await worker.outcome().code == 0)
            #expect(lstat(folder.path("link.json"), &state) == 0 && state.st_mode & S_IFMT == S_IFLNK)
            #expect(!FileManager.default.fileExists(atPath: folder.path("real.json")))
        }
    }
}
