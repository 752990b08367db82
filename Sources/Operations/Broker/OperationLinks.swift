/// The links of an operation to others. A linked operation always has a record.
package struct OperationLinks: Sendable, Equatable {
    package var unique: UniqueClaim?
    /// The limit key: only a limited number of operations with one key run at once.
    package var limitKey: String?
    /// The dependencies: each operation once, at most `dependenciesOfACall` in a call.
    package var after: [OperationDependency]
    /// The terms of a group; nil = not a group. A group never runs.
    package var group: GroupTerms?
    /// The groups to enter, before they are sorted into `groups` and `tells`.
    package var entering: [DependencyName] = []
    /// The groups to enter in the operation's own queue.
    package var groups: [OperationID] = []
    /// Queues with groups that already wait for this operation.
    package var tells: [String] = []
    /// The run with which this group finishes; nil = not the group of a run.
    package var run: RunClaim?
    /// The callback of a group that this operation is, in addition to its dependencies.
    package var callback: GroupCallback?
    /// The members that a change adds to a group.
    package var members: [DependencyName] = []
    /// Whether more dependencies follow (see `NeedsChange`). The operation does not start before they are complete.
    package var isOpen = false
    /// The states of dependencies in other queues, as those queues reported them.
    package var said: [DependencyName: RemoteState] = [:]

    package static let mostDependencies = 10_000
    package static let dependenciesOfACall = 500

    /// Returns nil if no link is given.
    package init?(
        unique: UniqueClaim? = nil,
        limitKey: String? = nil,
        after: [OperationDependency] = [],
        entering: [DependencyName] = []
    ) {
        if unique == nil, limitKey == nil, after.isEmpty, entering.isEmpty { return nil }
        (self.unique, self.limitKey, self.after, self.entering) = (unique, limitKey, after, entering)
    }

    /// Makes the links of a group.
    package init(group: GroupTerms, unique: UniqueClaim? = nil) {
        (self.group, self.unique, after) = (group, unique, [])
    }

    /// Makes the links of a group that ends with a run.
    package init(run: RunClaim) { (self.run, after) = (run, []) }

    /// Makes the links of a group's callback.
    package init(callback: GroupCallback) { (self.callback, after) = (callback, []) }

    /// Makes the links of a present or future member of a group.
    package init(groups: [OperationID] = [], tells: [String] = [], members: [DependencyName] = []) {
        (self.groups, self.tells, self.members, after) = (groups, tells, members, [])
    }

    package var dependencyCount: Int { after.count + members.count }

    /// All dependencies with their policies, as scripts store them.
    package var kept: [(name: DependencyName, policy: NeedPolicy)] {
        let callback = callback.map { [($0.group, $0.when.policy)] } ?? []
        return callback + members.map { ($0, .member) } + after.map { ($0.name, NeedPolicy($0.policy)) }
    }

    /// The text for the enqueue script: lines of a name and a value.
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

/// How an operation claims a unique key.
package struct UniqueClaim: Sendable, Equatable {
    package var key: String
    /// Whether the client derives the key from the operation's name and arguments before it sends it. `key` is empty
    /// until then.
    package var isAutomatic: Bool
    package var policy: DuplicatePolicy
    /// Milliseconds for which later operations with `join` or `skip` use this operation's result; 0 = not at all.
    package var freshMilliseconds: Int64

    package init(key: String, isAutomatic: Bool = false, policy: DuplicatePolicy, freshMilliseconds: Int64 = 0) {
        self.key = key
        self.isAutomatic = isAutomatic
        self.policy = policy
        self.freshMilliseconds = freshMilliseconds
    }
}

/// The rule for unique keys.
package enum UniqueKeyRule {
    package static let longest = 128

    /// - Throws: `.invalidOption` unless the key has 1 to 128 bytes and no control characters.
    package static func check(_ key: String) throws(OperationsError) {
        let quoted = OperationsError.quoted(key)
        guard !key.isEmpty else {
            throw OperationsError(.invalidOption, "the unique key is empty: use 1 to \(longest) bytes of text")
        }
        guard key.utf8.count <= longest else {
            throw OperationsError(
                .invalidOption,
                "the unique key \(quoted) has \(key.utf8.count) bytes: use at most \(longest), for example a digest"
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
