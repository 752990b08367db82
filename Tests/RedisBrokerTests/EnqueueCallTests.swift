import Logging
import NIOPosix
import Operations
import RedisBroker
import RedisClient
import TestSupport
import Testing

/// The enqueue script as any program may call it, according to `docs/wire-format.md`.
@Suite(.timeLimit(.minutes(60)))
struct EnqueueCallTests {
    private static let id = "01JD8ZK4Q7M2N3P5R6S7T8V9WX"
    private static let front = "102000001000000000000000000"
    private static let body = id + #"{"name":"n"}"#

    @Test(
        "A malformed call is refused as a whole with the reason and the place, and leaves nothing behind",
        arguments: [
            (["p", "1", "2", front, "1", body], "the floor not above the call"),
            (["p", "9007199254741008", "9007199254741008", front, "1", body], "at most 15 digits"),
            (["p", "9007199254741008", "1", front, "1", body], "at most 15 digits"),
            (["p", "01", "1", front, "1", body], "expected numbers of at most 15 digits"),
            (["p", "x", "1", front, "1", body], "expected numbers of at most 15 digits"),
            (["", "", "", front], "argument 4 begins no header batch"),
            (["", "", "", front, "0"], "argument 4 begins no header batch"),
            (["", "", "", front, "2", body], "argument 4 begins no header batch"),
            (["", "", "", front, "-1", body], "argument 4 begins no header batch"),
            (["", "", "", front, "1e0", body], "argument 4 begins no header batch"),
            (["", "", "", front, "1", body, body], "argument 7 begins no header batch"),
            (["", "", "", front, "1", body, front.replacing("1020", with: "1090"), "1", body], "argument 7 begins"),
            (["", "", "", front + "0", "1", body], "argument 4 begins no header batch"),
            (["", "", "", String(front.dropLast()) + "Z", "1", body], "argument 4 begins no header batch"),
            (["", "", "", front.replacing("1020", with: "2020"), "1", body], "argument 4 begins no header batch"),
            (["", "", "", front, "1", ""], #"argument 6 begins with ""#),
            (["", "", "", front, "2", body, "8" + body.dropFirst()], #"argument 7 begins with ""#),
            (["", "", "", front, "1", id + "ABC"], #"argument 6 begins with ""#),
            (["", "", "", front, "501"] + [String](repeating: body, count: 501), "at least 501 operations in a call"),
            (["", "", "", front, "1", id + String(repeating: "{", count: 1 << 20)], "1048640 bytes with its header"),
        ]
    )
    func refused(arguments: [String], why: String) async throws {
        try await withQueue { prefix, enqueue, link in
            let answer = try enqueue(arguments)
            #expect(answer.error?.message.contains(why) == true, "\(answer)")
            #expect(try await link.send(RedisCommand("KEYS", "\(prefix)*")).expectArray().isEmpty)
        }
    }

    @Test("Groups keep their order, and the first of several operations with one id counts")
    func groups() async throws {
        try await withQueue { prefix, enqueue, link in
            func body(_ number: Int) -> String { String(Self.id.dropLast()) + "\(number){\"name\":\"n\"}" }
            let tracked = Self.front.replacing("1020", with: "1120")
            let delayed = "102000001" + "0000000zz" + "000000000"
            let answer = try enqueue(
                ["p", "1", "1", Self.front, "2", body(1), body(2), tracked, "2", body(3), body(3)]
                    + [delayed, "1", body(3), Self.front, "1", body(4), tracked, "1", body(5)]
            )
            #expect(answer.string == "1110011")
            let lane = try await link.send(RedisCommand("LRANGE", "\(prefix)lane:2", 0, -1)).expectArray()
            let elements = lane.compactMap(\.string)
            #expect(elements.map { $0.dropFirst(63).prefix(1) } == ["1", "2", "3", "4", "5"])
            #expect(elements.map { $0.dropFirst(27).prefix(11).drop { $0 == "0" } } == ["1", "2", "3", "6", "7"])
            #expect(elements.map { $0.count > 64 } == [true, true, false, true, false])
            // Two of the seven sequence numbers belong to ids that existed already.
            #expect(try await link.send(RedisCommand("HGET", "\(prefix)meta", "sequence")).string == "7")
            #expect(try await link.send(RedisCommand("HGET", "\(prefix)totals", "notEnqueued")).string == "2")
        }
    }

    @Test("A repeat gets the first answer, an old packet is refused, and acknowledged answers are deleted")
    func repeats() async throws {
        try await withQueue { prefix, enqueue, link in
            func call(_ number: Int, floor: Int) throws -> RedisValue {
                try enqueue(["p", String(number), String(floor), Self.front, "1", Self.body])
            }
            let start = ContinuousClock.now
            for number in 1...100 {
                #expect(try call(number, floor: max(1, number - 2)).string == "1")
                #expect(try call(number, floor: max(1, number - 2)).string == "1")
            }
            #expect(try await link.send(RedisCommand("LLEN", "\(prefix)lane:2")).int == 100)
            // The hash has sixteen answers, those of the three unanswered calls, the floor and the expiry. No call was
            // its own floor.
            #expect(try await link.send(RedisCommand("HLEN", "\(prefix)calls:p")).expectInt() <= 16 + 3 + 2)
            let old = try call(7, floor: 7)
            #expect(old.error?.message.contains("has received the answer") == true)
            let left = try await link.send(RedisCommand("PTTL", "\(prefix)calls:p")).expectInt()
            #expect(Int64(left) + (ContinuousClock.now - start).wholeMilliseconds > 600_000)
            // The expiry is extended only if less than ten minutes are left.
            let time = try await link.send(RedisCommand("TIME")).expectArray()
            let now = try #require(time.first?.string.flatMap(Int.init)) * 1000
            try await link.send(RedisCommand("HSET", "\(prefix)calls:p", "until", now + 599_000))
            try await link.send(RedisCommand("PEXPIRE", "\(prefix)calls:p", 5000))
            #expect(try call(101, floor: 101).string == "1")
            #expect(try await link.send(RedisCommand("PTTL", "\(prefix)calls:p")).expectInt() > 600_000)
            try await link.send(RedisCommand("PEXPIRE", "\(prefix)calls:p", 605_000))
            #expect(try call(102, floor: 102).string == "1")
            #expect(try await link.send(RedisCommand("PTTL", "\(prefix)calls:p")).expectInt() <= 605_000)
            // A floor that jumps far advances in steps, so that no call deletes without bound.
            #expect(try call(5000, floor: 5000).string == "1")
            #expect(try call(5000, floor: 5000).string == "1")
            #expect(try await link.send(RedisCommand("HGET", "\(prefix)calls:p", "floor")).string == "602")
            #expect(try await link.send(RedisCommand("LLEN", "\(prefix)lane:2")).int == 103)
        }
    }

    @Test("For a producer with one call at a time, only the last answer is stored, and a repeat gets it")
    func repeatsInTurn() async throws {
        try await withQueue { prefix, enqueue, link in
            func call(_ number: Int, floor: Int? = nil, _ front: String = Self.front) throws -> RedisValue {
                try enqueue(["p", String(number), String(floor ?? number), front, "1", Self.body])
            }
            func waiting() async throws -> Int? { try await link.send(RedisCommand("LLEN", "\(prefix)lane:2")).int }
            for number in 1...40 {
                for _ in 1...2 { #expect(try call(number).string == "1") }
                #expect(try await waiting() == number)
                let old = number > 1 ? try call(number - 1).error?.message : "has received the answer"
                #expect(old?.contains("has received the answer") == true)
            }
            #expect(try await link.send(RedisCommand("HLEN", "\(prefix)calls:p")).int == 3)
            let tracked = Self.front.replacing("1020", with: "1120")
            for (number, answer) in [(41, "1"), (42, "0")] {
                for _ in 1...2 { #expect(try call(number, tracked).string == answer) }
            }
            #expect(try await waiting() == 41)
            // The floor of one call at a time also advances in steps.
            #expect(try call(5000, tracked).string == "0")
            #expect(try call(5000, tracked).string == "0")
            #expect(try await link.send(RedisCommand("HGET", "\(prefix)calls:p", "floor")).string == "542")
        }
    }

    @Test("A repeat finds the stored answer, independent of the floor that it names")
    func repeatsOutOfTurn() async throws {
        try await withQueue { prefix, enqueue, link in
            func call(_ number: Int, floor: Int? = nil) throws -> RedisValue {
                try enqueue(["p", String(number), String(floor ?? number), Self.front, "1", Self.body])
            }
            func waiting() async throws -> Int? { try await link.send(RedisCommand("LLEN", "\(prefix)lane:2")).int }
            #expect(try call(42).string == "1")
            #expect(try call(44, floor: 43).string == "1")
            #expect(try call(44).string == "1")
            #expect(try call(43).string == "1")
            #expect(try call(43, floor: 42).string == "1")
            #expect(try await waiting() == 3)
            // Answers that no repeat can ask for are deleted.
            for number in 45...64 {
                let answer = try call(number)
                #expect(answer.string == "1")
            }
            #expect(try await link.send(RedisCommand("HLEN", "\(prefix)calls:p")).int == 3)
        }
    }

    @Test(
        "A malformed call is also refused if the producer's calls are known",
        arguments: [
            (["p", "2", "2", front, "1", id + "ABC"], #"argument 6 begins with ""#),
            (["p", "2", "2", front, "1", "8" + body.dropFirst()], #"argument 6 begins with ""#),
            (["p", "2", "2", front.replacing("1020", with: "1050"), "1", body], "argument 4 begins no header batch"),
            (["p", "2x", "2x", front, "1", body], "expected numbers of at most 15 digits"),
            (["p", "9007199254741008", "9007199254741008", front, "1", body], "at most 15 digits"),
        ]
    )
    func refusedLater(arguments: [String], why: String) async throws {
        try await withQueue { prefix, enqueue, link in
            #expect(try enqueue(["p", "1", "1", Self.front, "1", Self.body]).string == "1")
            let answer = try enqueue(arguments)
            #expect(answer.error?.message.contains(why) == true, "\(answer)")
            #expect(try await link.send(RedisCommand("LLEN", "\(prefix)lane:2")).int == 1)
            #expect(try await link.send(RedisCommand("HGET", "\(prefix)calls:p", "floor")).string == "1")
        }
    }

    private func withQueue(
        _ body: (String, ([String]) throws -> RedisValue, RedisLink) async throws -> Void
    ) async throws {
        let link = RedisLink(
            TestServer.shared.endpoint,
            configuration: .patient,
            on: MultiThreadedEventLoopGroup.singleton.any(),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        defer { link.close() }
        let prefix = "{\(uniqueNamespace("call"))/q}:"
        let source = try #require(RedisBroker.scriptSource(named: "enqueue"))
        let enqueue = { (arguments: [String]) in
            var command = RedisCommand("EVAL", source, 1, "\(prefix)meta")
            for argument in arguments { command.append(argument) }
            return try TestServer.shared.ask(command)[0]
        }
        try await body(prefix, enqueue, link)
    }
}
