import Foundation
import TestSupport
import Testing

@Suite(
    "A producer in another language",
    .fewAtOnce,
    .enabled(if: TestRedis.isSingle, "the Python producer is a short example that follows no redirections")
)
struct PythonProducerTests {
    @Test("What the Python producer enqueues is listed, run by a worker, and its arguments arrive byte for byte")
    func produced() async throws {
        let installation = try Installation()
        let script = try await installation.succeed("redis", "script", "enqueue")
        let text = #"é "quoted" \ 9007199254740993"#
        let arguments = String(decoding: try JSONEncoder().encode(["argv": ["printf", "%s", text]]), as: UTF8.self)
        let repository = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../../..")
        let producer = repository.appendingPathComponent("Examples/PythonProducer/producer.py").standardized.path
        let made = try await Program.run(
            "/usr/bin/env",
            [
                "python3", producer, TestServer.shared.socketPath, installation.namespace, "mail", "exec", arguments,
                "600",
            ],
            environment: ["SLUICE_ENQUEUE_LUA": script].merging(TestUsers.credentials(of: .producer)) { $1 }
        )
        try #require(made.code == 0, "\(made.errors)")
        let ids = made.output.split(whereSeparator: \.isNewline).map(String.init)
        #expect(Set(ids).count == 600)
        #expect(try await installation.show(ids[0]).state == "ready")
        #expect(
            try await installation.succeed("list", "--limit", "1000", "-o", "id").split(separator: "\n").count == 600
        )
        let kept = Array(ids.suffix(5))
        let others = try await Program.run(
            "sluice",
            ["cancel"] + ids.dropLast(5),
            environment: installation.environment
        )
        #expect(others.code == 0, "\(others.errors)")
        let worker = try installation.worker(more: "-q", "mail", "--burst")
        #expect(await worker.outcome().code == 0)
        for shown in try await installation.show(kept) { #expect(shown.state == "finished") }
        #expect(try await installation.succeed("logs", kept[0]).contains(text))
    }
}
