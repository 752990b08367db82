import Logging
import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import RedisClient

@Suite("A slot", .timeLimit(.minutes(60)))
struct KeySlotTests {
    @Test(
        "is that of the hash tag, or else of the whole key",
        arguments: [
            ("", 0), ("123456789", 12_739), ("foo", 12_182), ("{foo}bar", 12_182), ("x{foo}{y}", 12_182),
            ("{user1000}.following", 3_443), ("foo{}{bar}", 8_363), ("foo{{bar}}zap", 4_015), ("foo{bar", 15_278),
        ]
    )
    func known(key: String, slot: UInt16) { #expect(KeySlot.of(key) == slot) }

    @Test("of a command is that of its first key, and commands about a server have none")
    func commands() {
        let key = KeySlot.of("foo")
        #expect(Submission.Payload.command(RedisCommand("SET", "foo", "bar")).slot == key)
        #expect(Submission.Payload.command(RedisCommand("blpop", "foo", "1")).slot == key)
        #expect(Submission.Payload.command(RedisCommand("EVALSHA", "0123", 1, "foo", "bar")).slot == key)
        #expect(Submission.Payload.command(RedisCommand("PING")).slot == nil)
        #expect(Submission.Payload.command(RedisCommand("config", "GET", "foo")).slot == nil)
        let script = RedisScript(name: "s", source: "return 1")
        let call = ScriptCall(script: script, tail: RedisArguments(keys: ["foo", "a"]))
        #expect(Submission.Payload.script(call).slot == key)
        let keyless = ScriptCall(script: script, tail: RedisArguments(keys: []))
        #expect(Submission.Payload.script(keyless).slot == nil)
    }
}

@Suite("A map of slots", .timeLimit(.minutes(60)))
struct SlotMapTests {
    private let asked = RedisEndpoint.Host("asked", port: 1)

    private func range(_ first: Int64, _ last: Int64, _ nodes: (String?, Int64)...) -> RedisValue {
        .array(
            [.integer(first), .integer(last)]
                + nodes.map { .array([$0.0.map { .bytes(Array($0.utf8)) } ?? .null, .integer($0.1), .bytes([])]) }
        )
    }

    @Test("is read from CLUSTER SLOTS, and a node without a name is the asked node")
    func reading() throws {
        let reply = RedisValue.array([range(10_000, 16_383, ("b", 2), ("c", 3)), range(0, 9_000, (nil, 1))])
        let map = try #require(SlotMap(reply, from: asked))
        #expect(map[0] == asked)
        #expect(map[9_000] == asked)
        #expect(map[9_001] == nil)
        #expect(map[16_383] == .init("b", port: 2))
        #expect(map.replicas == [.init("c", port: 3)])
        #expect(map.parts.map(\.host) == [asked, .init("b", port: 2)])
        #expect(map.parts.map(\.slot) == [0, 10_000])
        #expect(map.hosts.count == 3)
    }

    @Test("does not depend on the order of the ranges")
    func order() {
        let (one, two) = (range(0, 5, ("a", 1)), range(6, 9, ("b", 1)))
        #expect(SlotMap(.array([one, two]), from: asked) == SlotMap(.array([two, one]), from: asked))
    }

    @Test(
        "is refused for any other reply",
        arguments: [
            RedisValue.null, .array([]), .array([.integer(1)]), .status("OK"),
            .array([.array([.integer(0), .integer(99_999), .array([.bytes([65]), .integer(1)])])]),
            .array([.array([.integer(9), .integer(1), .array([.bytes([65]), .integer(1)])])]),
        ]
    )
    func refused(reply: RedisValue) { #expect(SlotMap(reply, from: asked) == nil) }

    @Test("follows redirections")
    func redirections() {
        let moved = { Redirection(RedisServerError(message: $0), from: self.asked) }
        #expect(moved("MOVED 3999 127.0.0.1:6381") == .moved(slot: 3999, .init("127.0.0.1", port: 6381)))
        #expect(moved("ASK 3999 ::1:6381") == .ask(.init("::1", port: 6381)))
        #expect(moved("MOVED 3999 :6381") == .moved(slot: 3999, .init("asked", port: 6381)))
        for text in ["MOVED", "MOVED x 1:1", "MOVED 99999 h:1", "MOVED 1 h", "TRYAGAIN 1 h:1"] {
            #expect(moved(text) == nil, "\(text)")
        }
        var map = SlotMap()
        map.assign(7, to: asked)
        #expect(map[7] == asked)
        #expect(map[8] == nil)
    }
}
