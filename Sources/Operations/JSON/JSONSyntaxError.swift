/// The reason for which a text is not acceptable JSON, and the position.
package struct JSONSyntaxError: Error, Sendable, Hashable {
    /// The kind of mistake. The list is closed, so a code can label a metric.
    package enum Code: String, Sendable, Hashable, CaseIterable {
        /// JSON's grammar does not allow the text at this position.
        case unexpected
        /// The text ends too early.
        case endOfInput
        /// The text is longer than the limit.
        case tooLong
        /// Arrays and objects are nested more deeply than the limit.
        case tooDeep
        /// An object has a key twice.
        case duplicateKey
        /// The text is not UTF-8, or an escape names half a surrogate pair.
        case invalidUnicode
    }

    /// The kind of mistake.
    package let code: Code
    /// The line, from 1.
    package let line: Int
    /// The column, from 1, counted in code points.
    package let column: Int
    /// The position in bytes, from 0.
    package let offset: Int
    /// The text at the position, safe to print.
    package let found: String
    /// The text that would have been right.
    package let expected: String
}

extension JSONSyntaxError: CustomStringConvertible {
    /// For example `line 1, column 7: found '}', expected a value`.
    package var description: String { "line \(line), column \(column): found \(found), expected \(expected)" }
}

extension JSONSyntaxError {
    /// Makes an error at a byte position. Line and column are counted only here, since most texts have no error.
    init(_ code: Code, in bytes: [UInt8], at offset: Int, found: String? = nil, expected: String) {
        let before = bytes[..<min(offset, bytes.count)]
        let lineStart = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        self.code = code
        self.line = before.count { $0 == UInt8(ascii: "\n") } + 1
        self.column = bytes[lineStart..<before.endIndex].count { $0 & 0xC0 != 0x80 } + 1
        self.offset = offset
        self.found = found ?? Self.describe(bytes, at: offset)
        self.expected = expected
    }

    private static func describe(_ bytes: [UInt8], at offset: Int) -> String {
        guard offset < bytes.count else { return "the end of the input" }
        let byte = bytes[offset]
        if (0x20..<0x7F).contains(byte) { return "'\(Character(Unicode.Scalar(byte)))'" }
        if byte == UInt8(ascii: "\n") { return "the end of the line" }
        return "the byte 0x" + String(byte, radix: 16, uppercase: true).zeroPadded(to: 2)
    }
}

extension String {
    /// Returns the text with zeros in front up to a length.
    func zeroPadded(to length: Int) -> String { String(repeating: "0", count: max(0, length - utf8.count)) + self }
}
