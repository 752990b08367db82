/// One reply of Redis (RESP2), with bytes of its own.
package enum RedisValue: Sendable, Equatable {
    case status(String)
    case bytes([UInt8])
    case integer(Int64)
    case array([RedisValue])
    case null
    indirect case error(RedisServerError)
}

extension RedisValue {
    /// The text of a status or bulk string, with invalid UTF-8 replaced; otherwise nil.
    package var string: String? {
        switch self {
        case .status(let text): text
        case .bytes(let bytes): String(decoding: bytes, as: UTF8.self)
        default: nil
        }
    }

    /// The bytes of a bulk string or status; otherwise nil.
    package var bytes: [UInt8]? {
        switch self {
        case .bytes(let bytes): bytes
        case .status(let text): Array(text.utf8)
        default: nil
        }
    }

    /// An integer reply, or a bulk string or status that is a decimal number; otherwise nil.
    package var int: Int? {
        switch self {
        case .integer(let value): Int(exactly: value)
        case .bytes(let bytes): Self.decimal(bytes)
        case .status(let text): Int(text)
        default: nil
        }
    }

    package var array: [RedisValue]? {
        guard case .array(let values) = self else { return nil }
        return values
    }

    package var isNull: Bool { self == .null }

    package var error: RedisServerError? {
        guard case .error(let error) = self else { return nil }
        return error
    }

    /// Parses digits with an optional sign, without making a `String`.
    private static func decimal(_ bytes: [UInt8]) -> Int? {
        let isNegative = bytes.first == UInt8(ascii: "-")
        let digits = isNegative ? bytes[1...] : bytes[...]
        guard !digits.isEmpty, digits.count <= 19 else { return nil }
        var value = 0
        for byte in digits {
            guard byte >= 48, byte <= 57 else { return nil }
            let (scaled, overflow) = value.multipliedReportingOverflow(by: 10)
            let (next, carry) = scaled.subtractingReportingOverflow(Int(byte - 48))
            if overflow || carry { return nil }
            value = next
        }
        if isNegative { return value }
        return value == .min ? nil : -value
    }
}

// Decoding of an expected reply. Each method throws an error reply as an error, and `unexpectedReply` for a reply of
// another type.
extension RedisValue {
    package func expectString(_ what: @autoclosure () -> String = "a string") throws(RedisError) -> String {
        if let string { return string }
        throw mismatch(what())
    }

    package func expectBytes(_ what: @autoclosure () -> String = "a bulk string") throws(RedisError) -> [UInt8] {
        if let bytes { return bytes }
        throw mismatch(what())
    }

    package func expectInt(_ what: @autoclosure () -> String = "an integer") throws(RedisError) -> Int {
        if let int { return int }
        throw mismatch(what())
    }

    package func expectArray(_ what: @autoclosure () -> String = "an array") throws(RedisError) -> [RedisValue] {
        if let array { return array }
        throw mismatch(what())
    }

    /// Returns the value, or throws an error reply.
    @discardableResult
    package func expectSuccess() throws(RedisError) -> RedisValue {
        if let error { throw RedisError(server: error) }
        return self
    }

    private func mismatch(_ wanted: String) -> RedisError {
        if let error { return RedisError(server: error) }
        return RedisError(.unexpectedReply, "expected \(wanted) from Redis, got \(kind)")
    }

    private var kind: String {
        switch self {
        case .status(let text): "the status \(text)"
        case .bytes(let bytes): "a bulk string of \(bytes.count) bytes"
        case .integer(let value): "the integer \(value)"
        case .array(let values): "an array of \(values.count)"
        case .null: "null"
        case .error(let error): "the error \(error.message)"
        }
    }
}
