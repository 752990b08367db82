import Foundation

/// The id of one operation: a ULID, 26 characters of Crockford base 32 that sort by time of creation.
///
/// Source of the format: https://github.com/ulid/spec (48 bits of milliseconds, 80 bits of randomness).
public struct OperationID: Hashable, Sendable, Comparable {
    package let high: UInt64
    package let low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Makes a new id from the wall clock and 80 random bits.
    ///
    /// Further ids of one millisecond, or after the clock was set back, count upwards. So the ids of one process sort
    /// by the order of creation. No due time or lease is derived from an id.
    public init() {
        self = Self.newest.withLock { newest in
            let milliseconds = UInt64(max(0, Date().timeIntervalSince1970 * 1000))
            // If the clock was set back, new ids still sort after the existing ones.
            if milliseconds <= newest.milliseconds, let next = newest.successor {
                newest = next
            } else {
                newest = OperationID(
                    milliseconds: milliseconds,
                    salt: .random(in: .min ... .max),
                    low: .random(in: .min ... .max)
                )
            }
            return newest
        }
    }

    /// The last id that `init()` made in this process.
    private static let newest = Guarded(OperationID(high: 0, low: 0))

    /// The time in milliseconds since 1970 at which a new id was made.
    package var milliseconds: UInt64 { high >> 16 }

    /// The next id of the same millisecond; nil after the last.
    private var successor: OperationID? {
        if low < .max { return OperationID(high: high, low: low + 1) }
        return high & 0xffff == 0xffff ? nil : OperationID(high: high + 1, low: 0)
    }

    package init(milliseconds: UInt64, using generator: inout some RandomNumberGenerator) {
        self.init(
            milliseconds: milliseconds,
            salt: .random(in: .min ... .max, using: &generator),
            low: generator.next()
        )
    }

    private init(milliseconds: UInt64, salt: UInt16, low: UInt64) {
        self.init(high: milliseconds << 16 | UInt64(salt), low: low)
    }

    /// Maps a text to an id, always to the same one, as `--id KEY` does.
    ///
    /// A text that already is an id maps to itself. Any other text is hashed with 128-bit FNV-1a, which spreads well
    /// but is not secret: a producer that chooses keys can make equal ids.
    ///
    /// - Parameter key: any text.
    public init(key: String) {
        if let id = OperationID(key) {
            self = id
            return
        }
        var hash: UInt128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d
        for byte in key.utf8 {
            hash ^= UInt128(byte)
            hash = hash &* 0x0000_0000_0100_0000_0000_0000_0000_013b
        }
        self.init(high: UInt64(truncatingIfNeeded: hash >> 64), low: UInt64(truncatingIfNeeded: hash))
    }

    /// Makes the id of something that happens at a time; equal times and keys give equal ids.
    package init(milliseconds: UInt64, key: String) {
        let hash = OperationID(key: key)
        self.init(milliseconds: milliseconds, salt: UInt16(truncatingIfNeeded: hash.high), low: hash.low)
    }

    public static func < (left: Self, right: Self) -> Bool {
        left.high == right.high ? left.low < right.low : left.high < right.high
    }
}

// MARK: - Text

extension OperationID: LosslessStringConvertible {
    package static let characterCount = 26
    private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)
    private static let values: [UInt8] = {
        var table = [UInt8](repeating: 0xff, count: 256)
        for (value, letter) in alphabet.enumerated() {
            table[Int(letter)] = UInt8(value)
            table[Int(letter | 0x20)] = UInt8(value)
        }
        return table
    }()

    /// Reads the 26 characters of an id, upper or lower case.
    ///
    /// - Returns: nil for any other length, a character outside Crockford's alphabet, or more than 128 bits.
    public init?(_ description: String) {
        self.init(utf8: description.utf8)
    }

    package init?(utf8: some Collection<UInt8>) {
        guard utf8.count == Self.characterCount else { return nil }
        var value: UInt128 = 0
        for (position, character) in utf8.enumerated() {
            let digit = Self.values[Int(character)]
            guard digit < 32, position > 0 || digit < 8 else { return nil }
            value = (value << 5) | UInt128(digit)
        }
        self.init(high: UInt64(truncatingIfNeeded: value >> 64), low: UInt64(truncatingIfNeeded: value))
    }

    public var description: String {
        String(unsafeUninitializedCapacity: Self.characterCount) { buffer in
            write(into: buffer)
            return Self.characterCount
        }
    }

    /// Writes the 26 characters at the beginning of the buffer.
    package func write(into buffer: UnsafeMutableBufferPointer<UInt8>) {
        Self.alphabet.withUnsafeBufferPointer { alphabet in
            var value = (UInt128(high) << 64) | UInt128(low)
            for position in stride(from: Self.characterCount - 1, through: 0, by: -1) {
                buffer[position] = alphabet[Int(truncatingIfNeeded: value & 31)]
                value >>= 5
            }
        }
    }
}

extension OperationID: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let id = OperationID(text) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not an operation id: \(text)")
        }
        self = id
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
