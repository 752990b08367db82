import Foundation
import Operations
import TestSupport
import Testing

extension CommandLineTests {
    /// Commands whose output cannot be written
    @Suite("output that fails")
    struct OutputFailureTests {
        private let sluice = CommandLine()

        /// Runs a shell script in which `sluice` is the built program with the Redis of this test.
        private func shell(_ script: String) async throws -> Program.Outcome {
            let program = Program.directory.appendingPathComponent("sluice").path
            let url = TestUsers.url(sluice.endpoint.description, as: .producer)
            let command = "sluice() { '\(program)' --redis '\(url)' -N \(sluice.namespace) \"$@\"; }; \(script)"
            return await (try Program("/bin/sh", ["-c", command])).outcome()
        }

        @Test("An id that cannot be printed goes to stderr: the operation is enqueued")
        func single() async throws {
            for format in ["id", "table", "json"] {
                let outcome = try await shell("sluice enqueue noop -q full -o \(format) >/dev/full")
                #expect(outcome.code == 74, "\(outcome.errors)")
                let id = try #require(outcome.errors.firstMatch(of: /[0-9A-HJKMNP-TV-Z]{26}/))
                #expect(try await sluice.state(String(id.0)) == "ready", "\(outcome.errors)")
                #expect(outcome.errors.contains("cannot write to stdout"), "\(outcome.errors)")
            }
            #expect(try await sluice.total("enqueued") == 3)
        }

        @Test("A batch is enqueued completely, and stderr says how many", arguments: ["id", "jsonl"])
        func batch(format: String) async throws {
            let folder = try TemporaryDirectory()
            let path = folder.path("batch.jsonl")
            try String(repeating: "{\"name\":\"noop\"}\n", count: 60_000)
                .write(toFile: path, atomically: true, encoding: .utf8)
            let outcome = try await shell("sluice enqueue --no-track --quiet --batch \(path) -o \(format) >/dev/full")
            #expect(outcome.code == 74, "\(outcome.errors)")
            #expect(outcome.errors.contains("60000 of 60000 operations are enqueued"), "\(outcome.errors)")
            #expect(outcome.errors.contains("and 59990 more lines"), "\(outcome.errors)")
            #expect(outcome.errors.utf8.count < 4_000)
            #expect(try await sluice.total("enqueued") == 60_000)
        }

        @Test("No connection to Redis takes the place of a closed stdout")
        func closed() async throws {
            let outcome = try await shell("sluice enqueue noop -q closed >&-")
            #expect(outcome.code == 74, "\(outcome.errors)")
            let id = try #require(outcome.errors.firstMatch(of: /[0-9A-HJKMNP-TV-Z]{26}/))
            #expect(try await sluice.state(String(id.0)) == "ready", "\(outcome.errors)")
        }

        @Test("A change is completed; a command that only reads ends with the reason")
        func others() async throws {
            let ids = [try await sluice.enqueue("noop", "-q", "o"), try await sluice.enqueue("noop", "-q", "o")]
            let program = Program.directory.appendingPathComponent("sluice").path
            let url = TestUsers.url(sluice.endpoint.description, as: .operator)
            let prefix = "'\(program)' --redis '\(url)' -N \(sluice.namespace)"
            let list = await (try Program("/bin/sh", ["-c", "\(prefix) list >/dev/full"])).outcome()
            #expect(list.code == 74, "\(list.errors)")
            let cancel = await
                (try Program(
                    "/bin/sh",
                    ["-c", "\(prefix) cancel \(ids.joined(separator: " ")) >/dev/full"]
                )).outcome()
            #expect(cancel.code == 74, "\(cancel.errors)")
            for id in ids {
                #expect(try await sluice.state(id) == "cancelled")
                #expect(cancel.errors.contains(id), "\(cancel.errors)")
            }
        }
    }
}
