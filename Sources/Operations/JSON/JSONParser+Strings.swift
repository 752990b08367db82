extension JSONParser {
    /// Reads a string from its opening to its closing quote. Stretches without escapes are copied as a whole.
    mutating func parseString() throws(JSONSyntaxError) -> String {
        position += 1
        var text = ""
        while true {
            text += try parseStretch()
            if take("\"") { return text }
            guard take("\\") else { throw unexpected("a character, an escape or '\"'") }
            text.unicodeScalars.append(try parseEscape())
        }
    }

    private mutating func parseStretch() throws(JSONSyntaxError) -> String {
        let start = position
        while let byte = peek, byte >= 0x20, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") { position += 1 }
        if let text = String(validating: bytes[start..<position], as: UTF8.self) { return text }
        throw error(.invalidUnicode, at: firstInvalid(in: start..<position), expected: "UTF-8")
    }

    /// Returns the position of the first byte that is not part of a character; searched again, slowly, for the message.
    private func firstInvalid(in range: Range<Int>) -> Int {
        var decoder = UTF8()
        var iterator = bytes[range].makeIterator()
        var valid = range.lowerBound
        while case .scalarValue(let scalar) = decoder.decode(&iterator) { valid += UTF8.width(scalar) }
        return valid
    }

    private mutating func parseEscape() throws(JSONSyntaxError) -> Unicode.Scalar {
        let escape = peek
        guard let escape, let plain = Self.escapes[escape] else {
            guard take("u") else { throw unexpected("one of \"\\/bfnrtu") }
            return try parseUnicodeEscape()
        }
        position += 1
        return plain
    }

    private static let escapes: [UInt8: Unicode.Scalar] = [
        UInt8(ascii: "\""): "\"", UInt8(ascii: "\\"): "\\", UInt8(ascii: "/"): "/", UInt8(ascii: "b"): "\u{8}",
        UInt8(ascii: "f"): "\u{C}", UInt8(ascii: "n"): "\n", UInt8(ascii: "r"): "\r", UInt8(ascii: "t"): "\t",
    ]

    private mutating func parseUnicodeEscape() throws(JSONSyntaxError) -> Unicode.Scalar {
        let start = position - 2
        let first = try parseHexadecimal()
        if let scalar = Unicode.Scalar(first) { return scalar }
        guard first < 0xDC00, take("\\"), take("u") else { throw loneSurrogate(at: start) }
        let second = try parseHexadecimal()
        guard (0xDC00...0xDFFF).contains(second) else { throw loneSurrogate(at: start) }
        let value = 0x10000 + (UInt32(first - 0xD800) << 10) + UInt32(second - 0xDC00)
        guard let scalar = Unicode.Scalar(value) else { throw loneSurrogate(at: start) }
        return scalar
    }

    private func loneSurrogate(at offset: Int) -> JSONSyntaxError {
        error(.invalidUnicode, at: offset, found: "half a surrogate pair", expected: "a whole one")
    }

    private mutating func parseHexadecimal() throws(JSONSyntaxError) -> UInt16 {
        var value: UInt16 = 0
        for _ in 0..<4 {
            guard let byte = peek, byte < 0x80, let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
                throw unexpected("four hexadecimal digits")
            }
            value = value << 4 | UInt16(digit)
            position += 1
        }
        return value
    }
}
