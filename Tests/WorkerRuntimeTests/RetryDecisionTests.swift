import Foundation
import Operations
import Synchronization
import TestSupport
import Testing

@testable import BrokerModel
@testable import WorkerRuntime

private struct Closed: Error {}
private struct Broken: Error {}
private struct Busy: RetryTiming {
    var retryAfter: Duration? { .seconds(60) }
}

/// Throws as its arguments say, and decides about retries by the error.
private struct Upload: DistributedOperation, RetryDeciding, EndObserving {
    static let name = "upload"
    static let seen = Mutex<[OperationID: [String]]>([:])
    let fault: String

    static func decision(after error: any Error, attempt: Int) -> RetryDecision {
        switch error {
        case is Closed: .discard
        case is Broken: .dead
        case is OperationsError: .retry(after: .seconds(60))
        default: .retry(after: .milliseconds(1))
        }
    }

    func main(_ context: OperationContext) async throws {
        switch fault {
        case "closed": throw Closed()
        case "broken": throw Broken()
        case "slow":
            context.progress(0.5)
            try await untilCancelled()
        case "flaky" where context.attempt < 8: throw Busy()
        case "endless": throw Busy()
        default: break
        }
    }

    func died(of error: any Error, _ context: OperationContext) async { note("died \(type(of: error))", context) }

    func ended(_ ending: LocalOperationEnding, _ context: OperationContext) async {
        context.log("ended \(ending.state)")
        note("ended \(ending.state) \(ending.attempts)", context)
    }

    private func note(_ text: String, _ context: OperationContext) {
        Self.seen.withLock { $0[context.id, default: []].append(text) }
    }
}

@Suite("After a failed attempt", .timeLimit(.minutes(60)))
struct RetryDecisionTests {
    private let harness = Harness(register: { $0.register(Upload.self) })

    private func put(_ fault: String, runTimeout: Duration? = nil, attempts: Int? = nil) async throws -> OperationID {
        let envelope = OperationEnvelope(
            name: "upload",
            arguments: Array(#"{"fault":"\#(fault)"}"#.utf8),
            retry: RetryOverrides(attempts: attempts),
            runTimeout: runTimeout
        )
        let operation = NewOperation(envelope: envelope.encoded())
        _ = try await harness.broker.enqueue([operation], queue: "default")
        return operation.id
    }

    private func seen(_ id: OperationID) -> [String] { Upload.seen.withLock { $0[id] ?? [] } }

    @Test("A type decides by the error between discard, dead and retry, and the record stores the verdict")
    func decides() async throws {
        harness.start()
        let closed = try await put("closed")
        #expect(try await harness.reaches(.cancelled, closed))
        #expect(try await harness.error(closed)?.verdict == .discarded)
        #expect(try await harness.error(closed)?.type == "Closed")
        let broken = try await put("broken")
        #expect(try await harness.reaches(.dead, broken))
        #expect(try await harness.error(broken)?.verdict == .final)
        // The type decides on more attempts than the 5 of the policy.
        let flaky = try await put("flaky")
        #expect(try await harness.reaches(.finished, flaky))
        #expect(try await harness.error(flaky)?.verdict == .retry)
        #expect(try await harness.detail(flaky)?.record.attempt == 8)
        let endless = try await put("endless", attempts: 3)
        #expect(try await harness.reaches(.dead, endless))
        let error = try await harness.error(endless)
        #expect(error?.verdict == .exhausted && error?.attempt == 3)
        let slow = try await put("slow", runTimeout: .milliseconds(20))
        #expect(try await harness.reaches(.retrying, slow))
        #expect(try await harness.error(slow)?.type == "timeout")
        try await harness.stop()
    }

    @Test("Hooks run once on death and on every end, with the thrown error")
    func hooks() async throws {
        harness.start()
        let ids = [try await put("broken"), try await put("closed"), try await put("none"), try await put("slow")]
        #expect(try await harness.reaches(.dead, ids[0]))
        #expect(try await harness.reaches(.cancelled, ids[1]))
        #expect(try await harness.reaches(.finished, ids[2]))
        // Wait until the body has begun: an operation that is cancelled before its start runs no hook.
        #expect(try await comesTrue { try await harness.detail(ids[3])?.progress != nil })
        _ = try await harness.cancel(ids[3])
        #expect(try await harness.reaches(.cancelled, ids[3]))
        #expect(seen(ids[0]) == ["died Broken", "ended dead 1"])
        #expect(seen(ids[1]) == ["ended cancelled 1"])
        #expect(seen(ids[2]) == ["ended finished 1"])
        #expect(seen(ids[3]) == ["ended cancelled 1"])
        #expect(try await harness.lines(ids[2]) == ["ended finished"])
        let retried = try await put("endless", attempts: 2)
        #expect(try await harness.reaches(.dead, retried))
        #expect(seen(retried) == ["died Busy", "ended dead 2"])
        try await harness.stop()
    }

    @Test(
        "An error's own pause replaces that of the policy, for types and definitions; a definition also has a hook"
    )
    func pauses() async throws {
        let ends = Mutex<[OperationState]>([])
        let retry = LocalRetry { error, _ in error is Closed ? .discard : .dead }
        let harness = Harness(register: {
            $0.register(OperationDefinition<Void, Void>("busy") { throw Busy() })
            $0.register(
                OperationDefinition<Void, Void>("closed", options: LocalOperationOptions(retry: retry)) {
                    throw Closed()
                }
            ) { ending, _ in ends.withLock { $0.append(ending.state) } }
        })
        harness.start()
        let before = Int64(Date.now.timeIntervalSince1970 * 1000)
        let busy = try await harness.broker.put("busy", retry: RetryPolicy(base: .milliseconds(1)))
        #expect(try await harness.reaches(.retrying, busy))
        let after = Int64(Date.now.timeIntervalSince1970 * 1000)
        let due = try #require(try await harness.detail(busy)?.record.dueAt)
        #expect(due >= before + 60_000 && due < after + 75_000)
        let closed = try await harness.broker.put("closed")
        #expect(try await harness.reaches(.cancelled, closed))
        #expect(ends.withLock { $0 } == [.cancelled])
        try await harness.stop()
    }

    @Test(
        "A definition's own retry policy goes before that of its registration",
        arguments: [(LocalRetry.never, 1), (LocalRetry(RetryPolicy(attempts: 1)), 1), (nil, 3)] as [(LocalRetry?, Int)]
    )
    func attempts(retry: LocalRetry?, runs: Int) async throws {
        let count = Mutex(0)
        let options = LocalOperationOptions(retry: retry)
        let harness = Harness(register: {
            $0.register(
                OperationDefinition<Void, Void>("charge", options: options) {
                    count.withLock { $0 += 1 }
                    throw Closed()
                },
                retryPolicy: RetryPolicy(attempts: 3, base: .milliseconds(1))
            )
        })
        harness.start()
        let id = try await harness.broker.put("charge")
        #expect(try await harness.reaches(.dead, id))
        #expect(count.withLock { $0 } == runs)
        try await harness.stop()
    }

    @Test("The next attempt and the next worker continue from the last checkpoint")
    func checkpoints() async throws {
        let stop = Latch()
        let sync = OperationDefinition<Void, [Int]>("sync") {
            guard let context = LocalOperation.current?.context else { return [] }
            let first = try await context.lastCheckpoint(as: Int.self) ?? 0
            for page in first..<5 {
                if page == 2, context.attempt == 1 { throw Oops() }
                try context.checkpoint(page + 1)
                let seen = try await context.lastCheckpoint(as: Int.self)
                #expect(seen == page + 1)
                if page == 3, context.attempt == 2, context.delivery == 1, !stop.isOpen { try await untilCancelled() }
            }
            return [first, context.attempt]
        }
        let harness = Harness(register: { $0.register(sync, retryPolicy: RetryPolicy(base: .milliseconds(1))) })
        harness.start()
        let id = try await harness.broker.put("sync")
        #expect(try await comesTrue { try await harness.detail(id)?.checkpoint == Array("4".utf8) })
        // The worker gives the operation back while it runs, so attempt and delivery stay.
        harness.worker.stopNow()
        try await harness.ended()
        stop.open()
        let next = Harness(broker: harness.broker, register: { $0.register(sync) })
        next.start()
        #expect(try await next.reaches(.finished, id))
        #expect(try await next.result(id) == "[4,2]")
        #expect(throws: OperationsError.self) {
            try OperationContext.unheard.checkpoint(String(repeating: "x", count: 65 << 10))
        }
        try await next.stop()
    }
}

private struct Oops: Error {}

extension OperationContext {
    private struct Nobody: OperationLink {
        var ownsLease: Bool { true }
        var cancellation: OperationCancellation? { nil }
        func write(_ content: Report.Content) {}
    }

    /// A context whose reports go nowhere
    fileprivate static var unheard: OperationContext {
        let envelope = OperationEnvelope(name: "none")
        let claimed = ClaimedOperation(
            fence: 1,
            header: OperationHeader(id: OperationID()),
            envelope: envelope.encoded()
        )
        return OperationContext(claimed: claimed, envelope: envelope, queue: "default", link: Nobody())
    }
}
