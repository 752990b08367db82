/// Reads the fields of one JSON object in order, as keys and the raw bytes of their values.
///
/// Builds no values, because the hot path reads millions of envelopes. The caller decodes the values that it uses.
package struct JSONFields {
    private let bytes: [UInt8]
    private var position = 0
    private var started = false
    private var ended = false

    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Returns the next field, or nil after the last one.
    ///
    /// - Throws: `.malformed` with the position of the faulty byte.
    package mutating func next() throws(OperationsError) -> (key: String, value: ArraySlice<UInt8>)? {
        if ended { return nil }
        skipSpace()
        if !started {
            started = true
            try expect(UInt8(ascii: "{"))
            skipSpace()
            if peek == UInt8(ascii: "}") { return try finish() }
        } else {
            if peek == UInt8(ascii: "}") { return try finish() }
            try expect(UInt8(ascii: ","))
            skipSpace()
        }
        let key = try string()
        skipSpace()
        try expect(UInt8(ascii: ":"))
        skipSpace()
        let start = position
        try skipValue()
        return (String(decoding: key.dropFirst().dropLast(), as: UTF8.self), bytes[start..<position])
    }

    private var peek: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func finish() throws(OperationsError) -> (key: String, value: ArraySlice<UInt8>)? {
        position += 1
        skipSpace()
        guard position == bytes.count else { throw malformed("text after the object") }
        ended = true
        return nil
    }

    private mutating func skipSpace() {
        while let byte = peek, byte == 0x20 || byte == 0x09 || byte == 0x0a || byte == 0x0d { position += 1 }
    }

    private mutating func expect(_ byte: UInt8) throws(OperationsError) {
        guard peek == byte else { throw malformed("expected '\(Character(UnicodeScalar(byte)))'") }
        position += 1
    }

    private mutating func string() throws(OperationsError) -> ArraySlice<UInt8> {
        let start = position
        try expect(UInt8(ascii: "\""))
        while let byte = peek {
            position += byte == UInt8(ascii: "\\") ? 2 : 1
            if byte == UInt8(ascii: "\"") { return bytes[start..<position] }
        }
        throw malformed("a string does not end")
    }

    private mutating func skipValue() throws(OperationsError) {
        var depth = 0
        while let byte = peek {
            switch byte {
            case UInt8(ascii: "\""):
                _ = try string()
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                guard depth <= SluiceDefaults.jsonDepth else {
                    throw malformed("nested deeper than \(SluiceDefaults.jsonDepth)")
                }
                position += 1
                continue
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                guard depth > 0 else { throw malformed("a value is missing") }
                depth -= 1
                position += 1
            case UInt8(ascii: ","), UInt8(ascii: ":"):
                guard depth > 0 else { throw malformed("a value is missing") }
                position += 1
                continue
            case 0x20, 0x09, 0x0a, 0x0d:
                position += 1
                continue
            default:
                skipLiteral()
            }
            if depth == 0 { return }
        }
        throw malformed("a value does not end")
    }

    private mutating func skipLiteral() {
        while let byte = peek, byte != UInt8(ascii: ","), byte != UInt8(ascii: "}"), byte != UInt8(ascii: "]"),
            byte > 0x20
        {
            position += 1
        }
    }

    private func malformed(_ why: String) -> OperationsError {
        OperationsError(.malformed, "an envelope is not a JSON object: \(why) at byte \(position)")
    }
}
