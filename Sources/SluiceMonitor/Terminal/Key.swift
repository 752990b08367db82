import Operations

/// A key, or an event that a terminal sends as one.
package enum Key: Sendable, Hashable {
    /// A printable character.
    case character(Character)
    /// Ctrl and a letter, in lower case.
    case control(Character)
    case enter, tab, backTab, escape, backspace, delete
    case up, down, left, right, home, end, pageUp, pageDown
    /// The terminal's window has gained or lost the focus.
    case focusIn, focusOut
}

/// Decodes keys from the bytes of a terminal, even if a sequence arrives in pieces.
///
/// A single escape byte may be the beginning of a sequence. `flush` makes it a key if nothing follows.
package struct KeyDecoder: Sendable {
    private static let longestSequence = 32

    private var pending: [UInt8] = []

    package init() {}

    /// Whether an incomplete sequence waits for more bytes.
    package var isWaiting: Bool { !pending.isEmpty }

    /// Takes bytes and returns the complete keys.
    package mutating func decode(_ bytes: some Sequence<UInt8>) -> [Key] {
        pending += bytes
        var keys: [Key] = []
        var rest = pending[...]
        while let first = rest.first {
            guard let (key, length) = Self.next(first, rest) else { break }
            if let key { keys.append(key) }
            rest = rest.dropFirst(length)
        }
        pending = Array(rest)
        return keys
    }

    /// Ends the wait for more bytes: a single escape is the Escape key; another incomplete sequence is dropped.
    package mutating func flush() -> [Key] {
        defer { pending = [] }
        return pending == [0x1B] ? [.escape] : []
    }

    /// - Returns: the next key (nil = unknown) and its length; nil if more bytes are needed.
    private static func next(_ first: UInt8, _ bytes: ArraySlice<UInt8>) -> (key: Key?, length: Int)? {
        switch first {
        case 0x1B: return escape(bytes)
        case 0x0D, 0x0A: return (.enter, 1)
        case 0x09: return (.tab, 1)
        case 0x7F, 0x08: return (.backspace, 1)
        case 0x01...0x1A: return (.control(Character(Unicode.Scalar(first + 0x60))), 1)
        case 0x00...0x1F: return (nil, 1)
        case 0x20...0x7E: return (.character(Character(Unicode.Scalar(first))), 1)
        default: return character(first, bytes)
        }
    }

    private static func character(_ first: UInt8, _ bytes: ArraySlice<UInt8>) -> (key: Key?, length: Int)? {
        let length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC2 ? 2 : 1
        guard length > 1 else { return (nil, 1) }
        let sequence = bytes.prefix(length)
        guard sequence.dropFirst().allSatisfy({ (0x80...0xBF).contains($0) }) else { return (nil, 1) }
        guard sequence.count == length else { return nil }
        guard let text = String(validating: sequence, as: UTF8.self), let character = text.first,
            !character.unicodeScalars.contains(where: \.isTerminalHazard)
        else { return (nil, length) }
        return (.character(character), length)
    }

    /// Decodes `ESC [ … final`, `ESC O final`, or the Escape key before another key.
    private static func escape(_ bytes: ArraySlice<UInt8>) -> (key: Key?, length: Int)? {
        let bytes = Array(bytes.prefix(longestSequence))
        guard bytes.count > 1 else { return nil }
        switch bytes[1] {
        case UInt8(ascii: "["):
            guard let final = bytes.dropFirst(2).firstIndex(where: { (0x40...0x7E).contains($0) }) else {
                return bytes.count == longestSequence ? (nil, bytes.count) : nil
            }
            let parameter = bytes[2..<final].prefix { $0 != UInt8(ascii: ";") }
            return (named(bytes[final], String(decoding: parameter, as: UTF8.self)), final + 1)
        case UInt8(ascii: "O"):
            guard bytes.count > 2 else { return nil }
            return (named(bytes[2], ""), 3)
        default: return (.escape, 1)
        }
    }

    private static func named(_ final: UInt8, _ parameter: String) -> Key? {
        switch (Character(Unicode.Scalar(final)), parameter) {
        case ("A", _): .up
        case ("B", _): .down
        case ("C", _): .right
        case ("D", _): .left
        case ("H", _), ("~", "1"), ("~", "7"): .home
        case ("F", _), ("~", "4"), ("~", "8"): .end
        case ("Z", _): .backTab
        case ("~", "3"): .delete
        case ("~", "5"): .pageUp
        case ("~", "6"): .pageDown
        case ("I", ""): .focusIn
        case ("O", ""): .focusOut
        case ("M", _): .enter
        default: nil
        }
    }
}
