import Foundation
import Operations

extension EnqueueOptions {
    /// The queue, with its default.
    package var queueName: String { queue ?? SluiceDefaults.queue }

    /// Returns these options together with the options of one operation of many.
    ///
    /// - Throws: `OperationsError` with `.invalidOption` for another queue or durability: many operations go to one
    ///   queue, and are confirmed once.
    func with(_ own: EnqueueOptions) throws(OperationsError) -> EnqueueOptions {
        let all = EnqueueOptions(self, own)
        guard all.queueName == queueName else {
            throw OperationsError(
                .invalidOption,
                "one operation asks for queue \(OperationsError.quoted(all.queueName)), but its call enqueues to "
                    + "\(OperationsError.quoted(queueName)): use one call per queue"
            )
        }
        guard all.durability == durability else {
            throw OperationsError(
                .invalidOption,
                "one operation asks for another durability than its call: give .durability(…) to the call"
            )
        }
        return all
    }

    /// True if the start is a date, which needs the server's clock to become a delay.
    var needsServerTime: Bool { if case .at = start { true } else { false } }
}

extension EnqueueOptions {
    /// Returns the operation in the broker's form, checked as far as a client can.
    ///
    /// - Parameters:
    ///   - name: the name of the registered type.
    ///   - arguments: one JSON value as UTF-8.
    ///   - retry: the type's policy as the producer knows it; `attempts` overrides its number of attempts. nil = the
    ///     policy of the worker's type.
    ///   - serverTime: milliseconds of server time; needed for `.at` only.
    /// - Throws: `OperationsError` with `.invalidName`, `.invalidOption` or `.tooLarge`.
    package func operation(
        name: String,
        arguments: [UInt8],
        retry: RetryPolicy? = nil,
        serverTime: Int64?
    ) throws(OperationsError) -> NewOperation {
        var retry = retry.map(RetryOverrides.init) ?? RetryOverrides()
        if let attempts { retry.attempts = attempts }
        let envelope = OperationEnvelope(
            name: name,
            arguments: arguments,
            tags: tags,
            headers: headers,
            retry: retry,
            runTimeout: runTimeout
        )
        try envelope.validate()
        try TimeLimit.check(expires, "the expiry")
        guard uniqueness == nil || tracked != false else {
            throw OperationsError(
                .invalidOption,
                "an untracked operation cannot have a unique key: drop .untracked"
            )
        }
        guard limitKey == nil || tracked != false else {
            throw OperationsError(.invalidOption, "an untracked operation cannot have a limit key: drop .untracked")
        }
        if let limitKey { try NameRule.check(limitKey, role: "limit key") }
        let links = OperationLinks(
            unique: try uniqueness?.claim(),
            limitKey: limitKey,
            after: try checkedDependencies(),
            entering: try checkedGroups()
        )
        return NewOperation(
            id: id ?? OperationID(),
            // Only a record shows that an id is taken.
            tracked: (tracked ?? true) || id != nil,
            priority: priority ?? .normal,
            delayMilliseconds: try delay(serverTime: serverTime),
            expiresMilliseconds: expires?.wholeMilliseconds ?? 0,
            envelope: envelope.encoded(),
            links: try boundToRun(links)
        )
    }

    private func delay(serverTime: Int64?) throws(OperationsError) -> Int64 {
        if start != nil, uniqueness?.start != nil {
            throw OperationsError(
                .invalidOption,
                "debounce sets the start itself and excludes .delay and .at: drop them"
            )
        }
        switch start ?? uniqueness?.start {
        case .now, nil: return 0
        case .delay(let duration):
            try TimeLimit.check(duration, "the delay", least: .zero)
            return duration.wholeMilliseconds
        case .at(let date):
            let now = serverTime ?? Int64(Date().timeIntervalSince1970 * 1000)
            return try TimeLimit.delay(until: (date.timeIntervalSince1970 * 1000).rounded(.up), now: now)
        }
    }
}

extension EnqueueOptions.Uniqueness {
    /// - Throws: `.invalidOption` for an invalid text or time.
    func claim() throws(OperationsError) -> UniqueClaim {
        if let text = key.text { try UniqueKeyRule.check(text) }
        try TimeLimit.check(freshFor, "freshFor")
        if case .debounce(let time) = policy { try TimeLimit.check(time, "the time of debounce", least: .zero) }
        return UniqueClaim(
            key: key.text ?? "",
            isAutomatic: key.text == nil,
            policy: policy,
            freshMilliseconds: freshFor?.wholeMilliseconds ?? 0
        )
    }

    /// The delay of `debounce`; nil for other policies.
    var start: EnqueueOptions.Start? { if case .debounce(let time) = policy { .delay(time) } else { nil } }
}

extension NewOperation {
    /// Returns the operation with the key that `.automatic` stands for.
    ///
    /// - Parameter seal: nil = the client has no keys.
    func withUniqueKey(seal: (any EnvelopeSeal)?) throws(OperationsError) -> NewOperation {
        guard let unique = links?.unique, unique.isAutomatic else { return self }
        var operation = self
        operation.links?.unique?.key = try AutomaticKey.key(of: envelope, seal: seal)
        operation.links?.unique?.isAutomatic = false
        return operation
    }
}
