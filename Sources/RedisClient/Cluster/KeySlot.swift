/// The slot of a key, of 16,384 in a cluster: CRC16 of its hash tag, or of the whole key if it has no tag.
enum KeySlot {
    static let count = 16_384

    static func of(_ key: String) -> UInt16 { of(Array(key.utf8)[...]) }

    static func of(_ key: ArraySlice<UInt8>) -> UInt16 { crc16(hashed(key)) % UInt16(count) }

    /// The text between the first `{` and the next `}`, unless that is empty; otherwise the whole key.
    private static func hashed(_ key: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        guard let open = key.firstIndex(of: UInt8(ascii: "{")) else { return key }
        let rest = key[(open + 1)...]
        guard let close = rest.firstIndex(of: UInt8(ascii: "}")), close > rest.startIndex else { return key }
        return rest[..<close]
    }

    /// XMODEM: polynomial 0x1021, initial value 0.
    private static func crc16(_ bytes: ArraySlice<UInt8>) -> UInt16 {
        bytes.reduce(0) { crc, byte in crc << 8 ^ table[Int(crc >> 8 ^ UInt16(byte))] }
    }

    private static let table: [UInt16] = (0..<256).map { index in
        (0..<8).reduce(UInt16(index) << 8) { crc, _ in crc & 0x8000 == 0 ? crc << 1 : crc << 1 ^ 0x1021 }
    }
}

extension Submission.Payload {
    /// The slot of the first key; nil if there is no key, and for a pipeline.
    var slot: UInt16? {
        switch self {
        case .command(let command): command.arguments.slotOfCommand
        case .script(let call): call.tail.slotOfTail
        case .pipeline: nil
        }
    }
}

extension RedisArguments {
    /// Commands that are about a server and not about keys.
    private static let keyless: Set = [
        "ACL", "ASKING", "AUTH", "CLIENT", "CLUSTER", "COMMAND", "CONFIG", "DBSIZE", "DEBUG", "ECHO", "INFO", "LATENCY",
        "PING", "PUBLISH", "ROLE", "SCAN", "SCRIPT", "SELECT", "SLOWLOG", "TIME", "WAIT", "WAITAOF",
    ]

    fileprivate var slotOfCommand: UInt16? {
        var words = Words(bytes)
        guard let first = words.next() else { return nil }
        let name = String(decoding: first, as: UTF8.self).uppercased()
        if Self.keyless.contains(name) { return nil }
        return ["EVAL", "EVALSHA"].contains(name) ? words.skipping(2) : words.skipping(0)
    }

    /// The slot of a tail of EVALSHA: number of keys, keys, arguments.
    fileprivate var slotOfTail: UInt16? {
        var words = Words(bytes)
        return words.skipping(1)
    }

    /// Reads encoded bulk strings.
    private struct Words {
        private var rest: ArraySlice<UInt8>

        init(_ bytes: [UInt8]) { rest = bytes[...] }

        mutating func next() -> ArraySlice<UInt8>? {
            guard rest.first == UInt8(ascii: "$"), let end = rest.firstIndex(of: 13) else { return nil }
            let length = rest[(rest.startIndex + 1)..<end].reduce(0) { $0 * 10 + Int($1) - 48 }
            let start = end + 2
            defer { rest = rest[(start + length + 2)...] }
            return rest[start..<(start + length)]
        }

        /// The slot of the word after `count` others.
        mutating func skipping(_ count: Int) -> UInt16? {
            for _ in 0..<count where next() == nil { return nil }
            return next().map(KeySlot.of)
        }
    }
}
