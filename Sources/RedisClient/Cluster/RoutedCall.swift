import NIOCore

/// A call on its way through a cluster.
struct RoutedCall: Sendable {
    let submission: Submission
    /// The queue in which the call takes room; nil for a part of a pipeline.
    private let queue: CommandQueue?
    /// The slot of its key, or of the key that it is sent near; nil goes to any node.
    let slot: UInt16?
    /// The node that is about to get the slot, if the last answer was ASK.
    var asking: RedisEndpoint.Host?
    /// How often the call was refused.
    var refusals = 0
    var reason: RedisError?

    init(_ submission: Submission, _ queue: CommandQueue?) {
        self.submission = submission
        self.queue = queue
        slot = submission.payload.slot ?? submission.near
    }

    /// The commands to send: after ASKING if the node does not have the slot yet.
    var payload: Submission.Payload {
        guard asking != nil else { return submission.payload }
        switch submission.payload {
        case .command(let command): return .pipeline([RedisCommand("ASKING"), command])
        // A pipeline is not repeated because of NOSCRIPT, so it brings the script along.
        case .script(let call):
            return .pipeline([call.script.loadCommand, RedisCommand("ASKING"), call.command])
        case .pipeline: return submission.payload
        }
    }

    func settle(_ result: Result<RedisValue, RedisError>, endpoint: RedisEndpoint.Host) {
        switch result {
        case .success(let value):
            release()
            submission.sink.succeed(value, endpoint: endpoint.description)
        case .failure(let error): fail(error)
        }
    }

    func fail(_ error: RedisError) {
        release()
        submission.sink.fail(error)
    }

    private func release() { queue?.release(commands: submission.replyCount, bytes: submission.weight) }

    /// The error of a call past its deadline, which has done nothing since it was always refused.
    func lateness(_ now: NIODeadline) -> RedisError? {
        guard submission.deadline <= now else { return nil }
        let last = reason.map { "; last: \($0.message)" } ?? ""
        return RedisError(
            .unreachable,
            "the cluster did not execute the command in time (tried \(refusals) times\(last))",
            cause: reason,
            endpoint: reason?.endpoint
        )
    }
}

/// The answer of a node that did not execute a command.
enum Refusal {
    case elsewhere(Redirection)
    /// Send the call to the same node again, after a pause.
    case later(RedisError)
    /// The link had not sent the call when the map changed: route it again.
    case lookAgain

    init?(_ result: Result<RedisValue, RedisError>, from host: RedisEndpoint.Host) {
        guard case .failure(let error) = result, let refusal = error.serverError else { return nil }
        switch refusal.code {
        case .moved, .ask:
            guard refusal != Self.signal.serverError else {
                self = .lookAgain
                return
            }
            self = Redirection(refusal, from: host).map { .elsewhere($0) } ?? .later(error)
        case .tryAgain, .clusterDown: self = .later(error)
        default: return nil
        }
    }

    /// The error by which a link's held calls are failed so that the router gets them back.
    static let signal = RedisError(server: RedisServerError(code: .moved, message: "MOVED"))
}

/// The calls of a slot that wait while refused ones are sent again. A pure value.
struct SlotTurn {
    /// Redirections that are followed without a pause. A node with an old map may redirect in circles.
    private static let patience = 3
    private static let longestPause = 320.0

    private var refused: [RoutedCall] = []
    var held: [RoutedCall] = []
    var isPausing = false
    private var mustWait = false

    /// In the order in which they came.
    var calls: [RoutedCall] { refused + held }

    mutating func take(_ call: RoutedCall, _ refusal: Refusal) {
        var call = call
        call.asking = nil
        switch refusal {
        case .elsewhere(.ask(let host)): call.asking = host
        case .elsewhere(.moved): break
        case .later(let error):
            mustWait = true
            call.reason = error
        case .lookAgain: return refused.append(call)
        }
        call.refusals += 1
        if call.refusals > Self.patience { mustWait = true }
        refused.append(call)
    }

    /// The pause before the calls are sent again, not much longer than the earliest deadline; nil for no pause.
    func pause(random: Double) -> TimeAmount? {
        guard mustWait, let tries = refused.map(\.refusals).max() else { return nil }
        let full = min(Self.longestPause, 10.0 * Double(1 << min(tries, 10)))
        return .microseconds(Int64(full * (0.5 + random / 2) * 1000))
    }
}

/// Collects the answers to a pipeline whose commands went to several nodes.
///
/// Sendable because it is used on one event loop only.
final class PipelineGathering: @unchecked Sendable {
    private let submission: Submission
    private let queue: CommandQueue
    private var values: [RedisValue]
    private var missing: Int
    private var failure: RedisError?
    private var hasAnswers = false

    init(_ submission: Submission, _ queue: CommandQueue) {
        self.submission = submission
        self.queue = queue
        missing = submission.replyCount
        values = Array(repeating: .null, count: missing)
    }

    func take(_ result: Result<RedisValue, RedisError>, at index: Int) {
        missing -= 1
        switch result {
        case .success(let value): values[index] = value
        case .failure(let error):
            if let refusal = error.serverError { values[index] = .error(refusal) } else { note(error) }
        }
        if case .success = result { hasAnswers = true }
        if missing == 0 { finish() }
    }

    private func note(_ error: RedisError) {
        let isUnknown = error.outcomeIsUnknown || failure?.outcomeIsUnknown == true
        failure = failure ?? error
        failure?.outcomeIsUnknown = isUnknown
    }

    private func finish() {
        queue.release(commands: submission.replyCount, bytes: submission.weight)
        guard var failure else { return submission.sink.succeed(all: values) }
        // A part of the pipeline was executed.
        if hasAnswers { failure.outcomeIsUnknown = true }
        submission.sink.fail(failure)
    }
}

extension Submission.Payload {
    /// A sink for a payload of this form. Of a pipeline with ASKING, the last reply counts.
    func sink(_ take: @escaping @Sendable (Result<RedisValue, RedisError>) -> Void) -> Submission.Sink {
        guard case .pipeline = self else { return .callback(take) }
        return .callbackOfLast(take)
    }
}

extension ScriptCall {
    /// The script call as a plain command.
    var command: RedisCommand { RedisCommand(prefix: script.prefix, tail: tail) }
}
