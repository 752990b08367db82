import Foundation
import Operations
import TestSupport
import Testing

extension CommandLineTests {
    @Suite("The trace of a caller", .timeLimit(.minutes(60)))
    struct TraceTests {
        private static let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
        private let sluice = CommandLine()

        private func headers(_ id: String) async throws -> [String: String] {
            let object = try await sluice.json("show", id)["headers"]?.objectValue
            return Dictionary(
                uniqueKeysWithValues: (object?.members ?? []).map { ($0.key, $0.value.stringValue ?? "") }
            )
        }

        @Test("TRACEPARENT reaches the program of an operation; a rerun begins anew and knows its origin")
        func wholeWay() async throws {
            let worker = try await sluice.worker("--allow", "exec")
            let trace = ["TRACEPARENT": Self.parent, "BAGGAGE": "user=ada"]
            let outcome = try await sluice(
                "enqueue",
                "--wait=180s",
                "--id",
                "traced",
                "--header",
                "tenant=acme",
                "--",
                "sh",
                "-c",
                #"echo "$TRACEPARENT $BAGGAGE""#,
                environment: trace
            )
            #expect(outcome.code == 0, "\(outcome.errors)")
            #expect(
                try await headers("traced") == ["traceparent": Self.parent, "baggage": "user=ada", "tenant": "acme"]
            )
            let log = try await sluice.lines("logs", "traced")
            #expect(log.contains { $0.hasSuffix("\(Self.parent) user=ada") }, "\(log)")
            let again = try await sluice.lines("rerun", "traced", "-o", "id", "-y")
            let rerun = try #require(again.first)
            #expect(try await headers(rerun) == ["origin-traceparent": Self.parent, "tenant": "acme"])
            worker.send(SIGTERM)
            #expect(await worker.outcome().code == 0)
        }

        @Test("A context of the caller goes to each line of a batch, and never into a schedule")
        func batch() async throws {
            let folder = try TemporaryDirectory()
            let file = folder.url.appendingPathComponent("batch.jsonl")
            try #"{"name":"noop","id":"line","headers":{"tenant":"acme"}}"#.write(
                to: file,
                atomically: true,
                encoding: .utf8
            )
            let trace = ["TRACEPARENT": Self.parent]
            #expect(try await sluice("enqueue", "--batch", file.path, environment: trace).code == 0)
            #expect(try await headers("line") == ["traceparent": Self.parent, "tenant": "acme"])
            let set = try await sluice("schedule", "add", "nightly", "noop", "--every", "1h", environment: trace)
            #expect(set.code == 0, "\(set.errors)")
            let run = try await sluice("schedule", "run", "nightly", "-o", "id", environment: trace)
            let id = try #require(run.output.split(separator: "\n").first.map(String.init))
            #expect(try await headers(id).isEmpty)
        }
    }
}
