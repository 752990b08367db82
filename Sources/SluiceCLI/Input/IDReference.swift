import Operations

/// An operation as people name it: its full id, the end of it, or either behind its queue and a slash.
package struct IDReference: Hashable, Sendable {
    package enum Part: Hashable, Sendable {
        case full(OperationID)
        /// At least six characters, upper case.
        case suffix(String)
    }

    package static let shortest = 6
    private static let alphabet = Set("0123456789ABCDEFGHJKMNPQRSTVWXYZ")

    package var queue: String?
    package var part: Part

    package init(queue: String? = nil, _ part: Part) {
        self.queue = queue
        self.part = part
    }

    /// Reads `01J9ZM2Q…` (26 characters), `…7QK2MX`, `7QK2MX`, `mail/7QK2MX`.
    ///
    /// - Throws: `CLIError` with `.usage` that says what an id looks like.
    package init(parsing text: String) throws(CLIError) {
        var rest = text[...]
        if let slash = rest.firstIndex(of: "/") {
            let name = String(rest[..<slash])
            guard NameRule.allows(name) else { throw Self.malformed(text) }
            queue = name
            rest = rest[rest.index(after: slash)...]
        }
        if let id = OperationID(String(rest)) {
            part = .full(id)
            return
        }
        for mark in ["…", "..."] where rest.hasPrefix(mark) { rest = rest.dropFirst(mark.count) }
        let suffix = rest.uppercased()
        guard suffix.count >= Self.shortest, suffix.count < OperationID.characterCount,
            suffix.allSatisfy(Self.alphabet.contains)
        else { throw Self.malformed(text) }
        part = .suffix(suffix)
    }

    /// What people see: the id, or `…SUFFIX`.
    package var shown: String {
        let place = queue.map { $0 + "/" } ?? ""
        switch part {
        case .full(let id): return place + id.description
        case .suffix(let suffix): return place + "…" + suffix
        }
    }

    private static func malformed(_ text: String) -> CLIError {
        .usage(
            "\(OperationsError.quoted(text)) is no operation id",
            fix: "the 26 characters of an id, the last 6 or more of them, or QUEUE/ID (sluice list -o id)"
        )
    }
}

extension IDReference.Part {
    package func matches(_ id: OperationID) -> Bool {
        switch self {
        case .full(let full): full == id
        case .suffix(let suffix): id.description.hasSuffix(suffix)
        }
    }
}
