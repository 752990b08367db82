import RedisBroker
import RedisClient
import TestSupport
import Testing

extension CommandLineTests {
    /// A namespace written by another version of Sluice
    @Suite("a namespace of another protocol")
    struct ProtocolTests {
        private let sluice = CommandLine()
        private var key: String { "{\(sluice.namespace):queues}:protocol" }

        private func store(_ number: String) throws {
            try TestRedis.shared.ask(RedisCommand("SET", key, number))[0].expectSuccess()
        }

        @Test("Every command and worker refuses a newer protocol with 78 and a fix, and writes nothing")
        func refusal() async throws {
            try store("2")
            let commands = [
                ["enqueue", "noop"], ["worker"], ["worker", "--processes", "2"], ["list"], ["monitor", "--once"],
                ["stats"], ["queue", "pause", "default"],
            ]
            for arguments in commands {
                let outcome = await (try sluice.start(arguments)).outcome()
                #expect(outcome.code == 78, "\(arguments): \(outcome.errors)")
                let said =
                    "namespace \(sluice.namespace) has protocol 2, and this program speaks protocol "
                    + "\(NamespaceProtocol.number): upgrade Sluice in this program, or use another namespace"
                #expect(outcome.errors.contains(said), "\(arguments): \(outcome.errors)")
            }
            let left = try TestRedis.shared.ask(
                RedisCommand("EXISTS", "{\(sluice.namespace)/default}:meta"),
                RedisCommand("GET", key)
            )
            #expect(left[0].int == 0 && left[1].string == "2")
        }

        @Test("The error for an older protocol says to drain it with older programs; other text is quoted")
        func older() async throws {
            for (stored, said) in [("0", "protocol 0,"), ("a\u{1b}b", #"protocol "a\u{1B}b","#)] {
                try store(stored)
                let outcome = try await sluice("enqueue", "noop")
                #expect(outcome.code == 78 && outcome.errors.contains(said), "\(outcome.errors)")
                #expect(outcome.errors.contains("drain it with the older Sluice") == (stored == "0"))
                #expect(outcome.errors.contains("-N \(sluice.namespace)-p\(NamespaceProtocol.number)"))
            }
        }

        @Test("doctor reports a protocol mismatch as an error")
        func doctor() async throws {
            try store("2")
            let outcome = try await sluice("doctor", "-o", "json")
            #expect(outcome.code == 1)
            #expect(outcome.output.contains(#""code": "protocol""#), "\(outcome.output) \(outcome.errors)")
            #expect(outcome.output.contains("has protocol 2"))
        }

        @Test("Reading an empty namespace writes no protocol number; the first enqueue does")
        func beginning() async throws {
            try await sluice.lines("list")
            try await sluice.lines("queue", "ls")
            #expect(try TestRedis.shared.ask(RedisCommand("EXISTS", key))[0].int == 0)
            _ = try await sluice.enqueue("noop")
            #expect(try TestRedis.shared.ask(RedisCommand("GET", key))[0].string == "\(NamespaceProtocol.number)")
            try await sluice.lines("worker", "--burst", "--quiet")
            try await sluice.lines("list")
        }
    }
}
