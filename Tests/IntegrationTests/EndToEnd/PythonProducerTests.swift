import Foundation
import RedisClient
import TestSupport
import Testing

@Suite(
    "A producer in another language",
    .fewAtOnce,
    .enabled(if: TestRedis.isSingle, "the Python producer is a short example that follows no redirections"),
    .timeLimit(.minutes(60))
)
struct PythonProducerTests {
    @Test("Operations of the Python producer are listed and run, and their arguments arrive byte for byte")
    func produced() async throws {
        let installation = try Installation()
        let script = try await installation.succeed("redis", "script", "enqueue")
        let text = #"é "quoted" \ 9007199254740993"#
        let arguments = String(decoding: try JSONEncoder().encode(["argv": ["printf", "%s", text]]), as: UTF8.self)
        let made = try await produce(
            [TestServer.shared.socketPath, installation.namespace, "mail", "exec", arguments, "600"],
            ["SLUICE_ENQUEUE_LUA": script].merging(TestUsers.credentials(of: .producer)) { $1 }
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

    @Test("The Python producer needs no credentials without users, and refuses a namespace of another protocol")
    func withoutCredentials() async throws {
        let redis = try TestRedis.start(withUsers: false)
        defer { redis.stop() }
        let script = try await Program.run("sluice", ["redis", "script", "enqueue"]).output
        let made = try await produce(
            [redis.servers[0].socketPath, "plain", "mail", "noop", "{}", "3"],
            ["SLUICE_ENQUEUE_LUA": script]
        )
        #expect(made.code == 0, "\(made.errors)")
        let lane = try redis.ask(RedisCommand("LLEN", "{plain/mail}:lane:2"))[0].int
        #expect(lane == 3 && made.output.split(whereSeparator: \.isNewline).count == 3)

        try redis.ask(RedisCommand("SET", "{other:queues}:protocol", "2"))[0].expectSuccess()
        let refused = try await produce(
            [redis.servers[0].socketPath, "other", "mail", "noop", "{}"],
            ["SLUICE_ENQUEUE_LUA": script]
        )
        #expect(refused.code == 1 && refused.errors.contains("namespace other has protocol 2"), "\(refused.errors)")
        #expect(try redis.ask(RedisCommand("EXISTS", "other:queues"))[0].int == 0)
    }

    private func produce(_ arguments: [String], _ environment: [String: String]) async throws -> Program.Outcome {
        let repository = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../../..")
        let producer = repository.appendingPathComponent("Examples/PythonProducer/producer.py").standardized.path
        return try await Program.run("/usr/bin/env", ["python3", producer] + arguments, environment: environment)
    }
}
