/// A set of sequence numbers, 64 in a word, so that consecutive numbers need little memory.
package struct SequenceSet: Sendable {
    private var words: [Int64: UInt64] = [:]

    package init() {}

    package func contains(_ number: Int64) -> Bool { words[number >> 6].map { $0 & Self.bit(number) != 0 } ?? false }

    package mutating func insert(_ number: Int64) { words[number >> 6, default: 0] |= Self.bit(number) }

    private static func bit(_ number: Int64) -> UInt64 { 1 << UInt64(number & 63) }
}
