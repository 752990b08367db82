/// The limits for reading a JSON text. Every text from outside is read within limits.
package struct JSONLimits: Sendable, Hashable {
    /// The handling of an object that has a key twice.
    package enum DuplicateKeys: Sendable, Hashable {
        /// Refuse the text.
        case refuse
        /// Keep the last value, at the place of the first.
        case lastWins
    }

    /// The greatest length in bytes.
    package var maximumBytes: Int
    /// How deeply arrays and objects may be nested.
    package var maximumDepth: Int
    /// How to handle an object that has a key twice.
    package var duplicateKeys: DuplicateKeys

    /// Makes limits for a text.
    /// - Parameters:
    ///   - maximumBytes: The greatest length in bytes; 1 MiB by default.
    ///   - maximumDepth: How deeply arrays and objects may be nested; 64 by default.
    ///   - duplicateKeys: How to handle an object that has a key twice; refused by default.
    package init(maximumBytes: Int = 1 << 20, maximumDepth: Int = 64, duplicateKeys: DuplicateKeys = .refuse) {
        self.maximumBytes = maximumBytes
        self.maximumDepth = maximumDepth
        self.duplicateKeys = duplicateKeys
    }
}

extension JSONValue {
    /// Reads one JSON text by RFC 8259, without extensions: no comments, no trailing commas, no byte order mark.
    /// - Parameters:
    ///   - text: The text; only white space is allowed around the value.
    ///   - limits: The limits for the text.
    /// - Throws: `JSONSyntaxError` with the position of the first mistake.
    package init(parsing text: String, limits: JSONLimits = JSONLimits()) throws(JSONSyntaxError) {
        try self.init(parsing: text.utf8, limits: limits)
    }

    /// Reads one JSON text from its bytes, which must be UTF-8.
    /// - Parameters:
    ///   - bytes: The text; only white space is allowed around the value.
    ///   - limits: The limits for the text.
    /// - Throws: `JSONSyntaxError` with the position of the first mistake.
    package init(parsing bytes: some Collection<UInt8>, limits: JSONLimits = JSONLimits()) throws(JSONSyntaxError) {
        guard bytes.count <= limits.maximumBytes else {
            throw JSONSyntaxError(
                .tooLong,
                in: [],
                at: 0,
                found: "\(bytes.count) bytes",
                expected: "at most \(limits.maximumBytes)"
            )
        }
        var parser = JSONParser(bytes: Array(bytes), limits: limits)
        self = try parser.parseDocument()
    }
}

/// A recursive descent over the bytes. The depth limit bounds the recursion.
struct JSONParser {
    let bytes: [UInt8]
    let limits: JSONLimits
    var position = 0

    init(bytes: [UInt8], limits: JSONLimits) {
        self.bytes = bytes
        self.limits = limits
    }

    mutating func parseDocument() throws(JSONSyntaxError) -> JSONValue {
        skipWhitespace()
        let value = try parseValue(depth: 0)
        skipWhitespace()
        guard position == bytes.count else { throw unexpected("the end of the input") }
        return value
    }

    private mutating func parseValue(depth: Int) throws(JSONSyntaxError) -> JSONValue {
        switch peek {
        case UInt8(ascii: "{"): return try parseObject(depth: depth + 1)
        case UInt8(ascii: "["): return try parseArray(depth: depth + 1)
        case UInt8(ascii: "\""): return .string(try parseString())
        case UInt8(ascii: "-"): return .number(try parseNumber())
        case .some(UInt8(ascii: "0")...UInt8(ascii: "9")): return .number(try parseNumber())
        case UInt8(ascii: "t"): return try parseWord("true", .bool(true))
        case UInt8(ascii: "f"): return try parseWord("false", .bool(false))
        case UInt8(ascii: "n"): return try parseWord("null", .null)
        default: throw unexpected("a value")
        }
    }

    private mutating func parseWord(_ word: StaticString, _ value: JSONValue) throws(JSONSyntaxError) -> JSONValue {
        for offset in 0..<word.utf8CodeUnitCount {
            guard peek == word.utf8Start[offset] else { throw unexpected("'\(word)'") }
            position += 1
        }
        return value
    }

    private mutating func parseArray(depth: Int) throws(JSONSyntaxError) -> JSONValue {
        try enter(depth)
        var elements: [JSONValue] = []
        if take("]") { return .array(elements) }
        while true {
            elements.append(try parseValue(depth: depth))
            skipWhitespace()
            if take("]") { return .array(elements) }
            guard take(",") else { throw unexpected("',' or ']'") }
            skipWhitespace()
        }
    }

    private mutating func parseObject(depth: Int) throws(JSONSyntaxError) -> JSONValue {
        try enter(depth)
        var members = JSONObject()
        if take("}") { return .object(members) }
        while true {
            try parseMember(into: &members, depth: depth)
            skipWhitespace()
            if take("}") { return .object(members) }
            guard take(",") else { throw unexpected("',' or '}'") }
            skipWhitespace()
        }
    }

    private mutating func parseMember(into members: inout JSONObject, depth: Int) throws(JSONSyntaxError) {
        let keyPosition = position
        guard peek == UInt8(ascii: "\"") else { throw unexpected("a key in double quotes") }
        let key = try parseString()
        let known = members[key] != nil
        if known && limits.duplicateKeys == .refuse {
            throw error(.duplicateKey, at: keyPosition, found: "a key for the second time", expected: "each key once")
        }
        skipWhitespace()
        guard take(":") else { throw unexpected("':'") }
        skipWhitespace()
        let value = try parseValue(depth: depth)
        if known { members[key] = value } else { members.append(key, value) }
    }

    private mutating func parseNumber() throws(JSONSyntaxError) -> JSONNumber {
        let start = position
        _ = take("-")
        if !take("0") { try takeDigits() }
        if take(".") { try takeDigits() }
        if take("e") || take("E") {
            if !take("+") { _ = take("-") }
            try takeDigits()
        }
        return JSONNumber(checkedLiteral: String(decoding: bytes[start..<position], as: UTF8.self))
    }

    private mutating func takeDigits() throws(JSONSyntaxError) {
        let start = position
        while let byte = peek, byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") { position += 1 }
        guard position > start else { throw unexpected("a digit") }
    }

    private mutating func enter(_ depth: Int) throws(JSONSyntaxError) {
        guard depth <= limits.maximumDepth else {
            throw error(.tooDeep, at: position, found: "level \(depth)", expected: "at most \(limits.maximumDepth)")
        }
        position += 1
        skipWhitespace()
    }
}

extension JSONParser {
    /// The next byte; `nil` at the end.
    var peek: UInt8? { position < bytes.count ? bytes[position] : nil }

    mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard let byte = peek, UInt32(byte) == character.value else { return false }
        position += 1
        return true
    }

    mutating func skipWhitespace() {
        while let byte = peek, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
    }

    func unexpected(_ expected: String) -> JSONSyntaxError {
        error(position < bytes.count ? .unexpected : .endOfInput, at: position, expected: expected)
    }

    func error(
        _ code: JSONSyntaxError.Code,
        at offset: Int,
        found: String? = nil,
        expected: String
    ) -> JSONSyntaxError {
        JSONSyntaxError(code, in: bytes, at: offset, found: found, expected: expected)
    }
}
