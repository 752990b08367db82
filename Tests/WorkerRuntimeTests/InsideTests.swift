import Operations
import Synchronization
import TestSupport
import Testing

@testable import BrokerModel
@testable import WorkerRuntime

@Suite("Inside a body", .timeLimit(.minutes(60)))
struct InsideTests {
    private final class Notes: Sendable {
        private let kept = Mutex<[String]>([])
        var all: [String] { kept.withLock { $0 } }
        func add(_ text: String) { kept.withLock { $0.append(text) } }
    }

    private struct Oops: Error {}

    private func handler(_ name: String, _ body: @escaping @Sendable (OperationContext) async throws -> Void)
        -> OperationHandler
    {
        OperationHandler(name: name, retryPolicy: RetryPolicy(attempts: 3, base: .milliseconds(5))) { _, context in
            try await body(context)
            return []
        }
    }

    @Test("once runs an effect once: later attempts get its result, and an effect that throws runs again")
    func once() async throws {
        let notes = Notes()
        let harness = Harness(handlers: [
            handler("pay") { context in
                let receipt = try await context.once("charge") {
                    notes.add("charge in attempt \(context.attempt)")
                    return "receipt \(context.attempt)"
                }
                notes.add(receipt)
                try await context.once("mail") {
                    notes.add("mail in attempt \(context.attempt)")
                    if context.attempt == 1 { throw Oops() }
                }
                if context.attempt == 2 { throw Oops() }
            }
        ])
        harness.start()
        let id = try await harness.broker.put("pay")
        #expect(try await harness.reaches(.finished, id))
        let expected = [
            "charge in attempt 1", "receipt 1", "mail in attempt 1", "receipt 1", "mail in attempt 2", "receipt 1",
        ]
        #expect(notes.all == expected)
        #expect(try await harness.detail(id)?.stored.once.keys.sorted() == ["charge", "mail"])
        try await harness.stop()
    }

    @Test("Calls of once with one label at the same time run one effect")
    func atOnce() async throws {
        let notes = Notes()
        let harness = Harness(handlers: [
            handler("pay") { context in
                try await withThrowingTaskGroup(of: Int.self) { group in
                    for number in 1...8 {
                        group.addTask {
                            try await context.once("charge") {
                                notes.add("charge")
                                await Task.yield()
                                return number
                            }
                        }
                    }
                    let results = try await group.reduce(into: Set<Int>()) { $0.insert($1) }
                    notes.add("\(results.count) result")
                }
            }
        ])
        harness.start()
        let id = try await harness.broker.put("pay")
        #expect(try await harness.reaches(.finished, id))
        #expect(notes.all == ["charge", "1 result"])
        try await harness.stop()
    }

    @Test("once stores its result even if the operation is cancelled meanwhile")
    func cancelled() async throws {
        let gate = Gate()
        let harness = Harness(handlers: [
            handler("pay") { context in
                try await context.once("charge") { try await gate.pass(context, isDeaf: true) }
                try Task.checkCancellation()
            }
        ])
        harness.start()
        let id = try await harness.broker.put("pay")
        #expect(await comesTrue { gate.arrived.contains(id) })
        let request = CancelRequest(reason: "enough", by: "ann")
        _ = try await harness.broker.cancel([id], request: request, queue: "default")
        #expect(try await comesTrue { try await harness.detail(id)?.cancel?.acknowledgedAt != nil })
        gate.open()
        #expect(try await harness.reaches(.cancelled, id))
        #expect(try await harness.detail(id)?.stored.once["charge"] == Array("true".utf8))
        try await harness.stop()
    }

    @Test(
        "once refuses bad labels and untracked operations before the effect; too large a result ends the operation"
    )
    func refused() async throws {
        let notes = Notes()
        let harness = Harness(handlers: [
            handler("label") { context in try await context.once("a b") { notes.add("effect") } },
            handler("plain") { context in try await context.once("a") { notes.add("effect") } },
            handler("large") { context in
                _ = try await context.once("a") {
                    notes.add("large")
                    return String(repeating: "x", count: SluiceDefaults.onceBytes)
                }
            },
        ])
        harness.start()
        let label = try await harness.broker.put("label", retry: .never)
        #expect(try await harness.reaches(.dead, label))
        #expect(try await harness.error(label)?.message.contains("the label of once \"a b\" is not allowed") == true)
        let envelope = OperationEnvelope(name: "plain", retry: RetryOverrides(attempts: 1))
        let plain = NewOperation(tracked: false, envelope: envelope.encoded())
        _ = try await harness.broker.enqueue([plain], queue: "default")
        #expect(try await harness.reaches(.dead, plain.id))
        #expect(try await harness.error(plain.id)?.message.contains("once(\"a\") needs a tracked operation") == true)
        let large = try await harness.broker.put("large")
        #expect(try await harness.reaches(.dead, large))
        #expect(try await harness.detail(large)?.errors.count == 1)
        #expect(notes.all == ["large"])
        try await harness.stop()
    }

    @Test("iterate continues behind the last finished element in the next attempt, and does nothing after the last")
    func iterate() async throws {
        let notes = Notes()
        let harness = Harness(handlers: [
            handler("walk") { context in
                try await context.iterate(["a", "b", "c", "d"]) { element in
                    notes.add("\(element)\(context.attempt)")
                    if element == "c", context.attempt == 1 { throw Oops() }
                }
                if context.attempt == 2 { throw Oops() }
            }
        ])
        harness.start()
        let id = try await harness.broker.put("walk")
        #expect(try await harness.reaches(.finished, id))
        #expect(notes.all == ["a1", "b1", "c1", "c2", "d2"])
        try await harness.stop()
    }

    @Test("iterate accepts cursors of pages, and rows behind a cursor")
    func cursors() async throws {
        let notes = Notes()
        let harness = Harness(handlers: [
            handler("pages") { context in
                try await context.iterate(from: 1) { page in
                    notes.add("page \(page)")
                    if page == 2, context.attempt == 1 { throw Oops() }
                    return page < 3 ? page + 1 : nil
                }
            },
            handler("rows") { context in
                let rows: @Sendable (Int?) -> AsyncStream<Int> = { last in
                    AsyncStream { rows in
                        for number in ((last ?? 0) + 1)...4 { rows.yield(number) }
                        rows.finish()
                    }
                }
                try await context.iterate({ last in rows(last) }, cursor: { $0 }) { row in
                    notes.add("row \(row)")
                    if row == 3, context.attempt == 1 { throw Oops() }
                }
            },
        ])
        harness.start()
        let pages = try await harness.broker.put("pages")
        #expect(try await harness.reaches(.finished, pages))
        #expect(notes.all == ["page 1", "page 2", "page 2", "page 3"])
        let rows = try await harness.broker.put("rows")
        #expect(try await harness.reaches(.finished, rows))
        #expect(notes.all.dropFirst(4) == ["row 1", "row 2", "row 3", "row 3", "row 4"])
        try await harness.stop()
    }

    @Test("After its time slice, iterate leaves its slot to waiting operations and continues in the same attempt")
    func slices() async throws {
        let notes = Notes()
        var configuration = WorkerConfiguration.quick()
        configuration.slots = 1
        let harness = Harness(
            connection: { NothingStartable(base: $0) },
            configuration: configuration,
            handlers: [
                handler("walk") { context in
                    try await context.iterate(1...3, slice: .zero) { notes.add("\($0)") }
                },
                handler("other") { _ in notes.add("other") },
            ]
        )
        let walk = try await harness.broker.put("walk")
        let other = try await harness.broker.put("other")
        harness.start()
        #expect(try await harness.reaches(.finished, walk))
        #expect(try await harness.reaches(.finished, other))
        #expect(notes.all == ["1", "other", "2", "3"])
        let detail = try await harness.detail(walk)
        #expect(detail?.yields == 1 && detail?.record.attempt == 1 && detail?.errors == [])
        try await harness.stop()
    }

    @Test("iterate ends between two elements on a cancel, and refuses an untracked operation")
    func iterateCancelled() async throws {
        let (notes, gate) = (Notes(), Gate())
        let harness = Harness(handlers: [
            handler("walk") { context in
                try await context.iterate(1...3) { number in
                    notes.add("\(number)")
                    if number == 2 { try await gate.pass(context, isDeaf: true) }
                }
            }
        ])
        harness.start()
        let id = try await harness.broker.put("walk")
        #expect(await comesTrue { gate.arrived.contains(id) })
        let request = CancelRequest(reason: "enough", by: "ann")
        _ = try await harness.broker.cancel([id], request: request, queue: "default")
        #expect(try await comesTrue { try await harness.detail(id)?.cancel?.acknowledgedAt != nil })
        gate.open()
        #expect(try await harness.reaches(.cancelled, id))
        #expect(notes.all == ["1", "2"])
        let envelope = OperationEnvelope(name: "walk", retry: RetryOverrides(attempts: 1))
        let plain = NewOperation(tracked: false, envelope: envelope.encoded())
        _ = try await harness.broker.enqueue([plain], queue: "default")
        #expect(try await harness.reaches(.dead, plain.id))
        #expect(try await harness.error(plain.id)?.message.contains("iterate needs a tracked operation") == true)
        try await harness.stop()
    }
}

/// A broker whose heartbeats report no ready operation. Such a report may be out of date, and the body would leave its
/// slot once more.
private struct NothingStartable: Forwarding {
    let base: InMemoryBroker

    func beat(_ beat: Beat, queue: String) throws -> BeatReply {
        var reply = try base.beat(beat, queue: queue)
        reply.startable = false
        return reply
    }
}
