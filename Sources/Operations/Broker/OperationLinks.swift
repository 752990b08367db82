/// What links an operation to others. A linked operation always has a record.
package struct OperationLinks: Sendable, Equatable {
    package var unique: UniqueClaim?
    /// Of the operations with one limit key only so many run at once.
    package var limitKey: String?
    /// What it waits for: each operation once, at most `mostDependencies`.
    package var after: [Dependency]
    /// What the queues of dependencies elsewhere have said of them.
    package var said: [DependencyName: RemoteState] = [:]

    package static let mostDependencies = 500

    /// nil = nothing links it to others.
    package init?(unique: UniqueClaim? = nil, limitKey: String? = nil, after: [Dependency] = []) {
        if unique == nil, limitKey == nil, after.isEmpty { return nil }
        (self.unique, self.limitKey, self.after) = (unique, limitKey, after)
    }

    /// As the enqueue script takes it: lines of a name and a value.
    package var encoded: [UInt8] {
        var lines: [String] = []
        if let unique {
            lines += ["unique \(unique.key)", "ifExists \(unique.policy.word)"]
            if unique.freshMilliseconds > 0 { lines.append("freshFor \(unique.freshMilliseconds)") }
        }
        if let limitKey { lines.append("limitKey \(limitKey)") }
        lines += after.map { dependency in
            let line = "after \(dependency.name) \(dependency.policy.rawValue)"
            guard dependency.queue != nil else { return line }
            let said = said[dependency.name]
            return "\(line) \((said?.status ?? .unknown).rawValue) \(said?.sequence ?? 0)"
        }
        return Array(lines.joined(separator: "\n").utf8)
    }
}

/// How an operation wants a unique key.
package struct UniqueClaim: Sendable, Equatable {
    package var key: String
    /// The key is made of the operation's name and arguments before it is sent; `key` is empty until then.
    package var isAutomatic: Bool
    package var policy: DuplicatePolicy
    /// Milliseconds for which its result counts as that of later ones with `join` or `skip`; 0 = not at all.
    package var freshMilliseconds: Int64

    package init(key: String, isAutomatic: Bool = false, policy: DuplicatePolicy, freshMilliseconds: Int64 = 0) {
        self.key = key
        self.isAutomatic = isAutomatic
        self.policy = policy
        self.freshMilliseconds = freshMilliseconds
    }
}

/// Which texts are unique keys.
package enum UniqueKeyRule {
    package static let longest = 128

    /// - Throws: `.invalidOption` unless the key has 1 to 128 bytes and no control characters.
    package static func check(_ key: String) throws(OperationsError) {
        let quoted = OperationsError.quoted(key)
        guard !key.isEmpty else {
            throw OperationsError(.invalidOption, "the unique key is empty: give 1 to \(longest) bytes of text")
        }
        guard key.utf8.count <= longest else {
            throw OperationsError(
                .invalidOption,
                "the unique key \(quoted) has \(key.utf8.count) bytes: at most \(longest); use a digest of what is longer"
            )
        }
        guard !key.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
            throw OperationsError(
                .invalidOption,
                "the unique key \(quoted) has a control character: use printable text"
            )
        }
    }
}
