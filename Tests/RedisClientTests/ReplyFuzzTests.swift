import TestSupport
import Testing

@testable import RedisClient

/// A random generator with repeatable values (SplitMix64).
private struct Seeded: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}

@Suite("The reply reader", .timeLimit(.minutes(60)))
struct ReplyFuzzTests {
    private static let limits = ReplyLimits(maxBytes: 1 << 16, maxArrayElements: 1_000)

    /// The results of a reader for some bytes.
    private struct Outcome: Equatable {
        var values: [RedisValue] = []
        var error: RedisError.Code?
    }

    /// Feeds the bytes in pieces of the given sizes, which are used in turn.
    private func read(_ bytes: [UInt8], pieces: [Int], limits: ReplyLimits = Self.limits) -> Outcome {
        let reader = ReplyReader(limits: limits)
        var outcome = Outcome()
        var rest = bytes[...]
        var turn = 0
        while !rest.isEmpty {
            let piece = rest.prefix(pieces[turn % pieces.count])
            rest = rest.dropFirst(piece.count)
            turn += 1
            do {
                try piece.withUnsafeBytes { piece in
                    try reader.feed(piece) { outcome.values.append($0) }
                }
            } catch {
                outcome.error = (error as? RedisError)?.code ?? .closed
                break
            }
        }
        return outcome
    }

    // MARK: Values and their wire form

    private func encode(_ value: RedisValue, into bytes: inout [UInt8]) {
        switch value {
        case .status(let text): bytes += "+\(text)\r\n".utf8
        case .error(let error): bytes += "-\(error.message)\r\n".utf8
        case .integer(let number): bytes += ":\(number)\r\n".utf8
        case .null: bytes += "$-1\r\n".utf8
        case .bytes(let content):
            bytes += "$\(content.count)\r\n".utf8
            bytes += content
            bytes += [13, 10]
        case .array(let values):
            bytes += "*\(values.count)\r\n".utf8
            for value in values { encode(value, into: &bytes) }
        }
    }

    private func randomValue(depth: Int, _ random: inout Seeded) -> RedisValue {
        switch Int.random(in: 0..<(depth > 0 ? 8 : 6), using: &random) {
        case 0: .status(["OK", "", "PONG", "QUEUED"].randomElement(using: &random) ?? "OK")
        case 1: .integer(Int64.random(in: .min ... .max, using: &random))
        case 2: .null
        case 3: .error(RedisServerError(message: "NOSCRIPT no \(Int.random(in: 0..<9, using: &random))"))
        case 4, 5:
            .bytes((0..<Int.random(in: 0..<200, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) })
        default:
            .array((0..<Int.random(in: 0..<6, using: &random)).map { _ in randomValue(depth: depth - 1, &random) })
        }
    }

    private func randomPieces(_ random: inout Seeded) -> [Int] {
        let largest = [1, 3, 40, 9_000].randomElement(using: &random) ?? 1
        return (0..<7).map { _ in Int.random(in: 1...largest, using: &random) }
    }

    // MARK: Tests

    @Test("reads back any values, split at any point", arguments: 0..<4 as Range<UInt64>)
    func roundTrip(round: UInt64) {
        let seed = UInt64.random(in: .min ... .max) ^ round
        var random = Seeded(state: seed)
        for _ in 0..<60 {
            let values = (0..<Int.random(in: 1..<20, using: &random)).map { _ in randomValue(depth: 6, &random) }
            var bytes: [UInt8] = []
            for value in values { encode(value, into: &bytes) }
            let outcome = read(
                bytes,
                pieces: randomPieces(&random),
                limits: .init(maxBytes: 1 << 24, maxArrayElements: 100)
            )
            #expect(outcome == Outcome(values: values, error: nil), "seed \(seed)")
        }
    }

    @Test(
        "makes values or one error of damaged bytes, split at any point",
        arguments: 0..<4 as Range<UInt64>
    )
    func damage(round: UInt64) {
        let seed = UInt64.random(in: .min ... .max) ^ round
        var random = Seeded(state: seed)
        for _ in 0..<150 {
            var bytes: [UInt8] = []
            for _ in 0..<Int.random(in: 1..<8, using: &random) { encode(randomValue(depth: 6, &random), into: &bytes) }
            damage(&bytes, &random)
            let whole = read(bytes, pieces: [bytes.count + 1])
            let pieces = read(bytes, pieces: randomPieces(&random))
            #expect(
                whole.error == nil || whole.error == .protocolViolation || whole.error == .replyTooLarge,
                "seed \(seed)"
            )
            // The point at which a bound is noticed depends on the pieces, but not whether the bytes are refused.
            #expect((pieces.error == nil) == (whole.error == nil), "seed \(seed)")
            let mayDiffer = [pieces.error, whole.error].contains(.replyTooLarge)
            #expect(mayDiffer || pieces == whole, "seed \(seed)")
        }
    }

    private func damage(_ bytes: inout [UInt8], _ random: inout Seeded) {
        for _ in 0..<Int.random(in: 1..<6, using: &random) where !bytes.isEmpty {
            let place = Int.random(in: 0..<bytes.count, using: &random)
            switch Int.random(in: 0..<6, using: &random) {
            case 0: bytes.removeLast(bytes.count - place)
            case 1: bytes[place] = UInt8.random(in: 0...255, using: &random)
            case 2: bytes.remove(at: place)
            case 3:
                bytes.insert(
                    contentsOf: Array("*\(UInt64.random(in: .min ... .max, using: &random))\r\n".utf8),
                    at: place
                )
            case 4:
                bytes.insert(
                    contentsOf: Array("$\(UInt32.random(in: .min ... .max, using: &random))\r\n".utf8),
                    at: place
                )
            default: bytes.insert(contentsOf: bytes[place...].prefix(30), at: place)
            }
        }
    }

    @Test("survives any bytes", arguments: 0..<4 as Range<UInt64>)
    func noise(round: UInt64) {
        let seed = UInt64.random(in: .min ... .max) ^ round
        var random = Seeded(state: seed)
        let alphabet = Array("*$+-:\r\n0123456789-".utf8)
        for _ in 0..<150 {
            let bytes = (0..<Int.random(in: 1..<300, using: &random)).map { _ in
                Bool.random(using: &random)
                    ? alphabet.randomElement(using: &random) ?? 13 : UInt8.random(in: 0...255, using: &random)
            }
            let outcome = read(bytes, pieces: randomPieces(&random))
            #expect(
                outcome.error == nil || outcome.error == .protocolViolation || outcome.error == .replyTooLarge,
                "seed \(seed)"
            )
        }
    }

    @Test(
        "refuses data that is not RESP or exceeds the bounds, by the announced length alone",
        arguments: [
            ("HTTP/1.1 400 Bad Request\r\n", RedisError.Code.protocolViolation),
            ("*9223372036854775807\r\n", .protocolViolation),
            ("*2147483648\r\n", .protocolViolation),
            ("*1001\r\n", .replyTooLarge),
            ("*-2\r\n", .protocolViolation),
            ("$65537\r\n", .replyTooLarge),
            ("$9223372036854775807\r\n", .replyTooLarge),
            ("$99999999999999999999\r\n", .protocolViolation),
            ("$-2\r\n", .protocolViolation),
            (":12a\r\n", .protocolViolation),
            (":99999999999999999999\r\n", .protocolViolation),
            (String(repeating: "*1\r\n", count: 10), .protocolViolation),
            ("+" + String(repeating: "x", count: 70_000), .replyTooLarge),
            ("*2\r\n$40000\r\n" + String(repeating: "x", count: 40_000) + "\r\n$40000\r\n", .replyTooLarge),
        ]
    )
    func refusals(text: String, code: RedisError.Code) {
        #expect(read(Array(text.utf8), pieces: [1 << 20]).error == code)
        #expect(read(Array(text.utf8), pieces: [1, 2, 1_000]).error == code)
    }

    @Test("bounds an array of nulls by its memory, not by its bytes")
    func cheapElements() {
        let rows = String(repeating: "*1000\r\n" + String(repeating: "$-1\r\n", count: 1_000), count: 20)
        let limits = ReplyLimits(maxBytes: 100_000, maxArrayElements: 1_000)
        #expect(read(Array("*20\r\n\(rows)".utf8), pieces: [4_096], limits: limits).error == .replyTooLarge)
    }

    @Test("bounds a line without an end, and reads a large value in small pieces in linear time")
    func cost() {
        let limits = ReplyLimits(maxBytes: 16 << 20, maxArrayElements: 10)
        let line = [UInt8](repeating: 120, count: 2 << 20)
        #expect(read([43] + line, pieces: [1_400], limits: limits).error == .protocolViolation)
        let value = Array("$\(line.count)\r\n".utf8) + line + [13, 10]
        let start = ContinuousClock.now
        #expect(read(value, pieces: [1_400], limits: limits).values == [.bytes(line)])
        // A quadratic algorithm would take hours.
        #expect(ContinuousClock.now - start < patience)
    }

    @Test("reads nothing more after an error")
    func finality() throws {
        let reader = ReplyReader(limits: Self.limits)
        for text in ["?\r\n", "+OK\r\n", "+OK\r\n"] {
            #expect(throws: RedisError.self) {
                try Array(text.utf8).withUnsafeBytes { bytes in
                    try reader.feed(bytes) { _ in Issue.record("a value came out of a broken reader") }
                }
            }
        }
    }
}
