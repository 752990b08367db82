import NIOCore

extension RedisLink {
    /// Runs a script of the link's set by EVALSHA. When the server has forgotten it (SCRIPT FLUSH, restart), it is loaded
    /// again and the refused calls are repeated in the order of their first try; a call that was refused has done nothing.
    /// - Parameters:
    ///   - tail: number of keys, keys and arguments, already encoded (see ``RedisArguments/init(keys:capacity:)``).
    ///   - mayWait: when too much is pending, wait for room (until the deadline) instead of failing as `overloaded`.
    package func submit(
        _ script: RedisScript,
        tail: RedisArguments,
        deadline: Duration? = nil,
        mayWait: Bool = false
    ) -> EventLoopFuture<RedisValue> {
        queue.submit(.script(call(script, tail)), configuration.deadline(deadline), mayWait: mayWait)
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
        try await queue.send(.script(call(script, tail)), configuration.deadline(deadline))
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

    private func call(_ script: RedisScript, _ tail: RedisArguments) -> ScriptCall {
        ScriptCall(set: scripts, index: scripts.index(of: script), tail: tail)
    }
}

extension RedisArguments {
    package init(keys: [String], arguments: [any RedisArgument]) {
        self.init(keys: keys)
        for argument in arguments { argument.append(to: &self) }
    }
}

extension RedisScriptSet {
    /// Loads every script with one pipeline and remembers the digests.
    package func load(on connection: RedisConnection) -> EventLoopFuture<Void> {
        connection.submit(scripts.indices.map(loadCommand)).flatMapThrowing { replies in
            for (index, reply) in replies.enumerated() { try self.learn(index, from: reply) }
        }
    }
}
