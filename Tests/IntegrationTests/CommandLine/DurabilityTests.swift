import Foundation
import Operations
import RedisClient
import TestSupport
import Testing

extension CommandLineTests {
    @Suite(
        "durability",
        .enabled(
            if: TestRedis.isSingle,
            "it is about one server and its replica; ClusterTests wait for those of a cluster"
        )
    )
    struct DurabilityTests {
        @Test("wait:1 waits for a replica; without its answer the operation is stored, exit 0, with a warning")
        func replicas() async throws {
            let port = try freePort()
            let server = try TestServer.start(.init(["save \"\""], port: port))
            let sluice = CommandLine(server.endpoint)
            let replica = try TestServer.start(.init(["replicaof 127.0.0.1 \(port)"]))
            try await eventually("the replica follows") {
                try server.info("slave0")?.contains("state=online") == true
            }
            // A busy replica may take longer than an enqueue waits for it.
            try await eventually("an enqueue is confirmed") {
                try await sluice.json("enqueue", "noop", "--durability", "wait:1")["confirmed"]?.boolValue == true
            }
            replica.signal(SIGSTOP)
            let outcome = try await sluice("enqueue", "noop", "--durability", "wait:1", "-o", "json")
            replica.signal(SIGCONT)
            #expect(outcome.code == 0, "\(outcome.errors)")
            #expect(outcome.errors.contains("stored, but not yet confirmed by 1 replica"), "\(outcome.errors)")
            let object = try JSONValue(parsing: outcome.output)
            #expect(object["confirmed"]?.boolValue == false)
            #expect(try await sluice.state(object["id"]?.stringValue ?? "") == "ready")
        }

        @Test("aof is confirmed if the server supports it; otherwise it is refused before anything is enqueued")
        func disk() async throws {
            let server = try TestServer.start(.durable)
            let sluice = CommandLine(server.endpoint)
            let canWait = try server.ask(RedisCommand("WAITAOF", 0, 0, 1))[0].error == nil
            if canWait {
                // A busy disk may take longer than an enqueue waits for it.
                try await eventually("an enqueue is confirmed") {
                    let outcome = try await sluice("enqueue", "noop", "--durability", "aof", "-o", "json")
                    #expect(outcome.code == 0, "\(outcome.errors)")
                    return try JSONValue(parsing: outcome.output)["confirmed"]?.boolValue == true
                }
            } else {
                let outcome = try await sluice("enqueue", "noop", "--durability", "aof", "-o", "json")
                #expect(outcome.code == 64)
                #expect(outcome.errors.contains("Redis 7.2"), "\(outcome.errors)")
                #expect(try await sluice.total("enqueued") == 0)
            }
        }

        @Test("A batch is confirmed as well; without durability the output has no such field")
        func batch() async throws {
            let folder = try TemporaryDirectory()
            try Array(repeating: #"{"name":"noop"}"#, count: 3).joined(separator: "\n")
                .write(toFile: folder.path("batch.jsonl"), atomically: true, encoding: .utf8)
            let server = try TestServer.start(.init())
            let sluice = CommandLine(server.endpoint)
            let outcome = try await sluice("enqueue", "--batch", folder.path("batch.jsonl"), "--durability", "wait:1")
            #expect(outcome.code == 0)
            #expect(outcome.errors.contains("3 are stored, but not yet confirmed by 1 replica"), "\(outcome.errors)")
            #expect(try await sluice.count(.ready) == 3)
            #expect(try await sluice.json("enqueue", "noop")["confirmed"] == nil)
        }
    }
}
