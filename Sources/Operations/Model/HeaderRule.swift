/// The limits of headers: how many an operation may have, which names and which values.
package enum HeaderRule {
    /// Whether an operation may have these headers.
    package static func allows(_ headers: [String: String]) -> Bool { (try? check(headers)) != nil }

    /// - Throws: `.invalidOption` with the header, what is wrong with it and what is allowed.
    static func check(_ headers: [String: String]) throws(OperationsError) {
        guard headers.count <= SluiceDefaults.headers else {
            throw OperationsError(.invalidOption, "\(headers.count) headers: use at most \(SluiceDefaults.headers)")
        }
        for (name, value) in headers.sorted(by: { $0.key < $1.key }) { try check(name, value) }
        let size = headers.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count }
        guard size <= SluiceDefaults.headersBytes else {
            throw OperationsError(
                .invalidOption,
                "the headers have \(size) bytes, names and values together: use at most \(SluiceDefaults.headersBytes)"
            )
        }
    }

    private static func check(_ name: String, _ value: String) throws(OperationsError) {
        let quoted = OperationsError.quoted(name)
        guard NameRule.allows(name) else {
            throw OperationsError(.invalidOption, "header name \(quoted) is not allowed: \(NameRule.expected)")
        }
        guard value.utf8.count <= SluiceDefaults.headerBytes else {
            throw OperationsError(
                .invalidOption,
                "header \(quoted) has a value of \(value.utf8.count) bytes: use at most \(SluiceDefaults.headerBytes)"
            )
        }
        guard !value.unicodeScalars.contains(where: \.isTerminalHazard) else {
            throw OperationsError(
                .invalidOption,
                "the value of header \(quoted) has a character that cannot be printed: use printable text"
            )
        }
    }
}
