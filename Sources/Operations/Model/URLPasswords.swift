/// Hides passwords of URLs in displayed text: `postgres://app:secret@db/main` becomes `postgres://app:***@db/main`.
///
/// The user of an HTTP URL without a password is often a token, so it is hidden too.
package enum URLPasswords {
    private static let mark = Array("***".utf8)
    private static let separator = Array("://".utf8)
    /// The escapes of JSON that can hide an `@`, a colon or a slash.
    private static let escapes = [Array("\\u".utf8), Array("\\/".utf8)]

    /// Returns the text with `***` in place of each password.
    package static func masked(_ text: String) -> String {
        guard text.utf8.contains(UInt8(ascii: "@")) else { return text }
        let bytes = Array(text.utf8)
        let secrets = Self.secrets(in: bytes)
        guard !secrets.isEmpty else { return text }
        var shown: [UInt8] = []
        var end = 0
        for secret in secrets {
            shown += bytes[end..<secret.lowerBound] + mark
            end = secret.upperBound
        }
        return String(decoding: shown + bytes[end...], as: UTF8.self)
    }

    /// Hides passwords in all strings of a value.
    package static func masked(_ value: JSONValue) -> JSONValue {
        switch value {
        case .string(let text): .string(masked(text))
        case .array(let elements): .array(elements.map { masked($0) })
        case .object(let object): .object(JSONObject(object.members.map { ($0.key, masked($0.value)) }))
        case .null, .bool, .number: value
        }
    }

    /// Hides passwords in stored JSON. JSON without passwords stays unchanged, byte by byte. Other bytes are treated as
    /// text.
    package static func masked(json bytes: [UInt8]) -> [UInt8] {
        let mayHave = bytes.contains(UInt8(ascii: "@")) && bytes.firstRange(of: separator) != nil
        guard mayHave || escapes.contains(where: { bytes.firstRange(of: $0) != nil }) else { return bytes }
        let limits = JSONLimits(maximumBytes: 4 << 20, maximumDepth: 512, duplicateKeys: .lastWins)
        guard let value = try? JSONValue(parsing: bytes, limits: limits) else {
            return Array(masked(String(decoding: bytes, as: UTF8.self)).utf8)
        }
        let shown = masked(value)
        return shown == value ? bytes : shown.serializedBytes()
    }

    private static func secrets(in bytes: [UInt8]) -> [Range<Int>] {
        var found: [Range<Int>] = []
        var start = 0
        while let colon = bytes[start...].firstRange(of: separator) {
            let end = bytes[colon.upperBound...].firstIndex(where: endsAddress) ?? bytes.endIndex
            let userinfo = userinfo(bytes[colon.upperBound..<end])
            if let secret = secret(userinfo, isHTTP: isHTTP(bytes[..<colon.lowerBound])) { found.append(secret) }
            start = userinfo.endIndex
        }
        return found
    }

    private static func endsAddress(_ byte: UInt8) -> Bool {
        byte <= 0x20 || byte == 0x7f || Array("\"<>`".utf8).contains(byte)
    }

    /// Returns the part before the @; empty if the address has no @.
    private static func userinfo(_ address: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let authority = address.prefix { !Array("/?#".utf8).contains($0) }
        if let at = authority.lastIndex(of: UInt8(ascii: "@")) { return authority[..<at] }
        // A password with an unescaped slash looks like a port that is not a number.
        guard authority.first != UInt8(ascii: "["), let colon = authority.firstIndex(of: UInt8(ascii: ":")) else {
            return address.prefix(0)
        }
        let isPort = authority[(colon + 1)...].allSatisfy { (48...57).contains($0) }
        guard !isPort, let at = address.lastIndex(of: UInt8(ascii: "@")) else { return address.prefix(0) }
        return address[..<at]
    }

    private static func secret(_ userinfo: ArraySlice<UInt8>, isHTTP: Bool) -> Range<Int>? {
        guard !userinfo.isEmpty else { return nil }
        if let colon = userinfo.firstIndex(of: UInt8(ascii: ":")) { return (colon + 1)..<userinfo.endIndex }
        return isHTTP ? userinfo.startIndex..<userinfo.endIndex : nil
    }

    private static func isHTTP(_ text: ArraySlice<UInt8>) -> Bool {
        let word = String(decoding: text.suffix(5), as: UTF8.self).lowercased()
        return word.hasSuffix("http") || word == "https"
    }
}
