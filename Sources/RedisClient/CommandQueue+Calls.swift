import NIOCore

// How callers wait: a future or async, one reply or many.
extension CommandQueue {
    func submit(
        _ payload: Submission.Payload,
        _ deadline: NIODeadline,
        near: UInt16? = nil,
        mayWait: Bool = false
    ) -> EventLoopFuture<RedisValue> {
        let promise = eventLoop.makePromise(of: RedisValue.self)
        enqueue(Submission(payload: payload, sink: .promise(promise), near: near, deadline: deadline), mayWait: mayWait)
        return promise.futureResult
    }

    func submit(all commands: [RedisCommand], _ deadline: NIODeadline) -> EventLoopFuture<[RedisValue]> {
        guard !commands.isEmpty else { return eventLoop.makeSucceededFuture([]) }
        let promise = eventLoop.makePromise(of: [RedisValue].self)
        enqueue(
            Submission(payload: .pipeline(commands), sink: .promiseOfAll(promise), deadline: deadline),
            mayWait: false
        )
        return promise.futureResult
    }

    func send(
        _ payload: Submission.Payload,
        _ deadline: NIODeadline,
        near: UInt16? = nil
    ) async throws -> RedisValue {
        try await withCheckedThrowingContinuation { continuation in
            enqueue(
                Submission(payload: payload, sink: .continuation(continuation), near: near, deadline: deadline),
                mayWait: true
            )
        }
    }

    func send(all commands: [RedisCommand], _ deadline: NIODeadline) async throws -> [RedisValue] {
        guard !commands.isEmpty else { return [] }
        return try await withCheckedThrowingContinuation { continuation in
            enqueue(
                Submission(payload: .pipeline(commands), sink: .continuationOfAll(continuation), deadline: deadline),
                mayWait: true
            )
        }
    }
}
