/// What links an operation to others. A linked operation always has a record.
package struct OperationLinks: Sendable, Equatable {
    package var unique: UniqueClaim?
    /// Of the operations with one limit key only so many run at once.
    package var limitKey: String?
    /// What it waits for: each operation once, in a call at most `dependenciesOfACall`.
    package var after: [Dependency]
    /// It is a group, and never runs.
    package var group: GroupTerms?
    /// Groups that it enters, before they are sorted into the two below.
    package var entering: [DependencyName] = []
    /// Groups of its queue that it enters.
    package var groups: [OperationID] = []
    /// Queues with groups that wait for it already.
    package var tells: [String] = []
    /// It is a group that finishes with a run.
    package var run: RunClaim?
    /// What it is for a group, besides something that waits for it.
    package var callback: GroupCallback?
    /// What a change adds to a group.
    package var members: [DependencyName] = []
    /// More of what it waits for follows, see `NeedsChange`: it does not start before that is complete.
    package var isOpen = false
    /// What the queues of dependencies elsewhere have said of them.
    package var said: [DependencyName: RemoteState] = [:]

    package static let mostDependencies = 10_000
    package static let dependenciesOfACall = 500

    /// nil = nothing links it to others.
    package init?(
        unique: UniqueClaim? = nil,
        limitKey: String? = nil,
        after: [Dependency] = [],
        entering: [DependencyName] = []
    ) {
        if unique == nil, limitKey == nil, after.isEmpty, entering.isEmpty { return nil }
        (self.unique, self.limitKey, self.after, self.entering) = (unique, limitKey, after, entering)
    }

    /// Of a group.
    package init(group: GroupTerms, unique: UniqueClaim? = nil) {
        (self.group, self.unique, after) = (group, unique, [])
    }

    /// Of a group that ends with a run.
    package init(run: RunClaim) { (self.run, after) = (run, []) }

    /// Of a callback of a group.
    package init(callback: GroupCallback) { (self.callback, after) = (callback, []) }

    /// Of a member, or of what is to become one.
    package init(groups: [OperationID] = [], tells: [String] = [], members: [DependencyName] = []) {
        (self.groups, self.tells, self.members, after) = (groups, tells, members, [])
    }

    package var dependencyCount: Int { after.count + members.count }

    /// All that it needs, as the scripts keep it.
    package var kept: [(name: DependencyName, policy: NeedPolicy)] {
        let callback = callback.map { [($0.group, $0.when.policy)] } ?? []
        return callback + members.map { ($0, .member) } + after.map { ($0.name, NeedPolicy($0.policy)) }
    }

    /// As the enqueue script takes it: lines of a name and a value.
    package var encoded: [UInt8] {
        var lines: [String] = []
        if let unique {
            lines += ["unique \(unique.key)", "ifExists \(unique.policy.word)"]
            if unique.freshMilliseconds > 0 { lines.append("freshFor \(unique.freshMilliseconds)") }
        }
        if let limitKey { lines.append("limitKey \(limitKey)") }
        if isOpen { lines.append("open 1") }
        if let group { lines.append("group \(group.ifAbandoned.rawValue) \(group.leaseMilliseconds)") }
        lines += groups.map { "member \($0)" } + tells.map { "tell \($0)" }
        if let run { lines.append("run \(run.worker) \(run.fence) \(run.id)") }
        if let callback { lines.append(line(callback.group, callback.when.policy)) }
        lines += members.map { line($0, .member) } + after.map { line($0.name, NeedPolicy($0.policy)) }
        return Array(lines.joined(separator: "\n").utf8)
    }

    private func line(_ name: DependencyName, _ policy: NeedPolicy) -> String {
        let line = "after \(name) \(policy.rawValue)"
        guard name.queue != nil else { return line }
        let said = said[name]
        return "\(line) \((said?.status ?? .unknown).rawValue) \(said?.sequence ?? 0)"
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
