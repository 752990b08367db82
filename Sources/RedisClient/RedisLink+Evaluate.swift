import NIOCore

extension RedisLink {
    /// Runs a script by EVALSHA. If the server does not have the script, loads it and repeats the refused calls in the
    /// order of their first try. Scripts are missing on a new server and after a restart or SCRIPT FLUSH. A refused
    /// call has done nothing.
    /// - Parameters:
    ///   - tail: number of keys, keys and arguments, already encoded (see ``RedisArguments/init(keys:capacity:)``).
    ///   - mayWait: if too much is pending, wait for room (until the deadline) instead of failing as `overloaded`.
    package func submit(
        _ script: RedisScript,
        tail: RedisArguments,
        deadline: Duration? = nil,
        mayWait: Bool = false
    ) -> EventLoopFuture<RedisValue> {
        queue.submit(
            .script(ScriptCall(script: script, tail: tail)),
            configuration.deadline(deadline),
            mayWait: mayWait
        )
    }

    package func submit(
        _ script: RedisScript,
        keys: [String],
        arguments: [any RedisArgument] = [],
        deadline: Duration? = nil
    ) -> EventLoopFuture<RedisValue> {
        submit(script, tail: RedisArguments(keys: keys, arguments: arguments), deadline: deadline)
    }

    /// The async form of `submit`; waits for room instead of failing as `overloaded`.
    @discardableResult
    package func evaluate(
        _ script: RedisScript,
        tail: RedisArguments,
        deadline: Duration? = nil
    ) async throws -> RedisValue {
        try await queue.send(.script(ScriptCall(script: script, tail: tail)), configuration.deadline(deadline))
    }

    @discardableResult
    package func evaluate(
        _ script: RedisScript,
        keys: [String],
        arguments: [any RedisArgument] = [],
        deadline: Duration? = nil
    ) async throws -> RedisValue {
        try await evaluate(script, tail: RedisArguments(keys: keys, arguments: arguments), deadline: deadline)
    }
}

extension RedisArguments {
    package init(keys: [String], arguments: [any RedisArgument]) {
        self.init(keys: keys)
        for argument in arguments { argument.append(to: &self) }
    }
}
