import Operations

/// The fields of a query or of a form, in `application/x-www-form-urlencoded`.
///
/// Wrong escapes stay as they are, and bytes that are not UTF-8 are replaced.
struct FormFields: Sendable, Equatable {
    private var fields: [String: [String]] = [:]

    init(_ text: some StringProtocol) {
        for pair in text.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = Self.decoded(parts[0])
            fields[name, default: []].append(parts.count == 2 ? Self.decoded(parts[1]) : "")
        }
    }

    /// The value of a field; nil if it is absent or empty. Of several fields with this name, the first counts.
    subscript(name: String) -> String? { fields[name]?.first.flatMap { $0.isEmpty ? nil : $0 } }

    /// Makes fields from values.
    init(_ values: KeyValuePairs<String, String>) {
        for (name, value) in values { fields[name] = [value] }
    }

    /// The values of all fields with a name, such as check boxes, in order and without empty ones.
    func all(_ name: String) -> [String] { (fields[name] ?? []).filter { !$0.isEmpty } }

    /// A part of a path, in which `+` is no space.
    static func decoded(path text: some StringProtocol) -> String { decoded(text, plusIsSpace: false) }

    private static func decoded(_ text: some StringProtocol, plusIsSpace: Bool = true) -> String {
        let source = Array(text.utf8)
        var bytes: [UInt8] = []
        var index = 0
        while index < source.count {
            let byte = source[index]
            index += 1
            if plusIsSpace, byte == UInt8(ascii: "+") {
                bytes.append(0x20)
            } else if byte == UInt8(ascii: "%"), index + 1 < source.count,
                let high = Character(Unicode.Scalar(source[index])).hexDigitValue,
                let low = Character(Unicode.Scalar(source[index + 1])).hexDigitValue
            {
                bytes.append(UInt8(high << 4 | low))
                index += 2
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension FormFields {
    /// The state that a list is limited to; nil = all states.
    ///
    /// - Throws: `PageFailure` for an unknown state: all operations would be more than what was meant.
    func state() throws(PageFailure) -> OperationState? {
        guard let text = self["state"] else { return nil }
        guard let state = OperationState(rawValue: text) else { throw .badRequest("There is no state \(text).") }
        return state
    }
}
