/// A JSON object whose text is plain: printable ASCII without escapes, and few keys in each object. Most objects are
/// plain.
///
/// A plain object is checked as `JSONValue(parsing:)` checks it, and written as `JSONValue.serializedBytes` writes it,
/// but no value is built. If the caller reads only a few members, this takes a fraction of the time.
package struct PlainJSON {
    /// A member of the object: the places of its key, without quotes, and of its value in `bytes`.
    package struct Member {
        package let key: Range<Int>
        package let value: Range<Int>
    }

    /// The object without white space.
    package let bytes: [UInt8]
    package let members: [Member]

    /// - Parameters:
    ///   - text: one JSON object, with white space around it.
    ///   - maximumDepth: how deeply arrays and objects may be nested.
    /// - Returns: nil if the text is not plain, or not such an object. Then `JSONValue(parsing:)` reads the text, or
    ///   reports the mistake.
    package init?(_ text: ArraySlice<UInt8>, maximumDepth: Int) {
        var members: [Member]?
        bytes = Array(unsafeUninitializedCapacity: text.count) { output, count in
            text.withUnsafeBufferPointer { text in
                var scanner = PlainScanner(text: text, output: output, maximumDepth: maximumDepth)
                members = scanner.document()
                count = scanner.written
            }
        }
        guard let members else { return nil }
        self.members = members
    }

    package func string(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
}

/// Copies a text without its white space. Every function ends early, with false or nil, if the text is not plain JSON.
private struct PlainScanner {
    /// The most keys of an object. Keys are compared one by one, so larger objects are left to the parser.
    private static let mostKeys = 16

    private let text: UnsafeBufferPointer<UInt8>
    /// The buffer for the copy, at least as long as the text.
    private let output: UnsafeMutableBufferPointer<UInt8>
    private let maximumDepth: Int
    private var position = 0
    private(set) var written = 0
    /// The keys of the objects that are open, as ranges of `output`.
    private var keys: [Range<Int>] = []
    private var members: [PlainJSON.Member] = []

    init(text: UnsafeBufferPointer<UInt8>, output: UnsafeMutableBufferPointer<UInt8>, maximumDepth: Int) {
        self.text = text
        self.output = output
        self.maximumDepth = maximumDepth
    }

    mutating func document() -> [PlainJSON.Member]? {
        skipSpace()
        guard object(depth: 1) else { return nil }
        skipSpace()
        return position == text.count ? members : nil
    }

    private mutating func value(depth: Int) -> Bool {
        switch peek ?? 0 {
        case UInt8(ascii: "\""): return string()
        case UInt8(ascii: "{"): return object(depth: depth + 1)
        case UInt8(ascii: "["): return array(depth: depth + 1)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return number()
        case UInt8(ascii: "t"): return word("true")
        case UInt8(ascii: "f"): return word("false")
        case UInt8(ascii: "n"): return word("null")
        default: return false
        }
    }

    private mutating func object(depth: Int) -> Bool {
        guard depth <= maximumDepth, take("{") else { return false }
        skipSpace()
        if take("}") { return true }
        let outer = keys.count
        while true {
            let start = written
            guard string() else { return false }
            let key = start + 1..<written - 1
            guard note(key, since: outer) else { return false }
            skipSpace()
            guard take(":") else { return false }
            skipSpace()
            let valueStart = written
            guard value(depth: depth) else { return false }
            if depth == 1 { members.append(PlainJSON.Member(key: key, value: valueStart..<written)) }
            skipSpace()
            if take("}") { break }
            guard take(",") else { return false }
            skipSpace()
        }
        keys.removeSubrange(outer...)
        return true
    }

    private mutating func note(_ key: Range<Int>, since outer: Int) -> Bool {
        guard keys.count - outer < Self.mostKeys else { return false }
        for other in keys[outer...] where other.count == key.count {
            if output[other].elementsEqual(output[key]) { return false }
        }
        keys.append(key)
        return true
    }

    private mutating func array(depth: Int) -> Bool {
        guard depth <= maximumDepth, take("[") else { return false }
        skipSpace()
        if take("]") { return true }
        while true {
            guard value(depth: depth) else { return false }
            skipSpace()
            if take("]") { return true }
            guard take(",") else { return false }
            skipSpace()
        }
    }

    private mutating func string() -> Bool {
        guard take("\"") else { return false }
        while let byte = peek, byte >= 0x20, byte < 0x7F, byte != UInt8(ascii: "\\") {
            copy(byte)
            if byte == UInt8(ascii: "\"") { return true }
        }
        return false
    }

    private mutating func number() -> Bool {
        _ = take("-")
        if !take("0"), !digits() { return false }
        if take("."), !digits() { return false }
        if take("e") || take("E") {
            if !take("+") { _ = take("-") }
            return digits()
        }
        return true
    }

    private mutating func digits() -> Bool {
        let start = position
        while let byte = peek, byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") { copy(byte) }
        return position > start
    }

    private mutating func word(_ word: StaticString) -> Bool {
        for offset in 0..<word.utf8CodeUnitCount {
            guard peek == word.utf8Start[offset] else { return false }
            copy(word.utf8Start[offset])
        }
        return true
    }

    private var peek: UInt8? { position < text.count ? text[position] : nil }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard let byte = peek, UInt32(byte) == character.value else { return false }
        copy(byte)
        return true
    }

    private mutating func copy(_ byte: UInt8) {
        output[written] = byte
        written += 1
        position += 1
    }

    private mutating func skipSpace() {
        while let byte = peek, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
    }
}
