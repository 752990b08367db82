import NIOCore

/// One call: what to send, where the outcome goes, and the deadline.
struct Submission: Sendable {
    enum Payload: Sendable {
        case command(RedisCommand)
        case pipeline([RedisCommand])
        case script(ScriptCall)
    }

    /// The receiver of the outcome. Exactly one of the methods below is called, exactly once.
    enum Sink: Sendable {
        case promise(EventLoopPromise<RedisValue>)
        case promiseOfAll(EventLoopPromise<[RedisValue]>)
        case continuation(CheckedContinuation<RedisValue, any Error>)
        case continuationOfAll(CheckedContinuation<[RedisValue], any Error>)
        case callback(@Sendable (Result<RedisValue, RedisError>) -> Void)
        /// Gets the reply to a pipeline's last command.
        case callbackOfLast(@Sendable (Result<RedisValue, RedisError>) -> Void)
    }

    var payload: Payload
    var sink: Sink
    /// In a cluster, the slot whose node gets a command without a key.
    var near: UInt16?
    var deadline: NIODeadline

    init(payload: Payload, sink: Sink, near: UInt16? = nil, deadline: NIODeadline) {
        self.payload = payload
        self.sink = sink
        self.near = near
        self.deadline = deadline
    }

    /// Approximate bytes on the wire, to account for memory.
    var weight: Int {
        switch payload {
        case .command(let command): command.weight
        case .pipeline(let commands): commands.reduce(0) { $0 + $1.weight }
        case .script(let call): call.tail.bytes.count + 80
        }
    }

    var replyCount: Int {
        if case .pipeline(let commands) = payload { commands.count } else { 1 }
    }
}

extension Submission.Sink {
    func fail(_ error: RedisError) {
        switch self {
        case .promise(let promise): promise.fail(error)
        case .promiseOfAll(let promise): promise.fail(error)
        case .continuation(let continuation): continuation.resume(throwing: error)
        case .continuationOfAll(let continuation): continuation.resume(throwing: error)
        case .callback(let callback), .callbackOfLast(let callback): callback(.failure(error))
        }
    }

    /// For a single command: an error reply fails the call.
    func succeed(_ value: RedisValue, endpoint: String) {
        if case .error(let error) = value { return fail(RedisError(server: error, endpoint: endpoint)) }
        switch self {
        case .promise(let promise): promise.succeed(value)
        case .promiseOfAll(let promise): promise.succeed([value])
        case .continuation(let continuation): continuation.resume(returning: value)
        case .continuationOfAll(let continuation): continuation.resume(returning: [value])
        case .callback(let callback), .callbackOfLast(let callback): callback(.success(value))
        }
    }

    /// For a pipeline: error replies stay in their places.
    func succeed(all values: [RedisValue]) {
        switch self {
        case .promiseOfAll(let promise): promise.succeed(values)
        case .continuationOfAll(let continuation): continuation.resume(returning: values)
        case .callbackOfLast(let callback):
            let last = values.last ?? .null
            callback(last.error.map { .failure(RedisError(server: $0)) } ?? .success(last))
        default: preconditionFailure("a pipeline has a sink of many values")
        }
    }
}

extension NIODeadline {
    static func after(_ duration: Duration) -> NIODeadline { .now() + TimeAmount(duration) }
}
