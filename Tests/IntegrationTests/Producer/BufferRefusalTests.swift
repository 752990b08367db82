import Logging
import Synchronization
import TestSupport
import Testing

@testable import Operations
@testable import Sluice

/// A buffer in front of a broker that refuses operations
@Suite("A client's buffer at refusals", .timeLimit(.minutes(60)))
struct BufferRefusalTests {
    /// The broker: stores operations, or refuses them in one way.
    private final class Store: Sendable {
        struct State {
            var error: OperationsError.Code?
            var unwanted: OperationID?
            var calls = 0
            var stored: [OperationID] = []
        }

        let state = Mutex(State(error: .unavailable))

        @Sendable func enqueue(_ operations: [NewOperation], queue: String) throws -> [EnqueueOutcome] {
            try state.withLock { state in
                state.calls += 1
                if let error = state.error { throw OperationsError(error, "no") }
                if let unwanted = state.unwanted, operations.contains(where: { $0.id == unwanted }) {
                    throw OperationsError(.refused, "not that")
                }
                state.stored += operations.map(\.id)
                return operations.map { _ in .created }
            }
        }

        func set(_ error: OperationsError.Code?) { state.withLock { $0.error = error } }
        var stored: [OperationID] { state.withLock { $0.stored } }
        var calls: Int { state.withLock { $0.calls } }
    }

    private let store = Store()
    private let log = Lines()

    private func buffer(operations: Int, patience: Duration = .milliseconds(50)) -> EnqueueBuffer {
        let log = log
        return EnqueueBuffer(
            EnqueueBuffering(maxOperations: operations, patience: patience),
            logger: Logger(label: "test") { _ in log },
            sink: { [store] in try store.enqueue($0, queue: $1) }
        )
    }

    private func operations(_ count: Int) -> [NewOperation] { (0..<count).map { _ in NewOperation(envelope: []) } }

    @Test("If only some of many operations have room, the first are buffered, even if Redis comes back full")
    func partial() async throws {
        let buffer = buffer(operations: 5)
        let many = operations(8)
        let error = await #expect(throws: OperationsError.self) {
            _ = try await buffer.enqueue(many, queue: "q") { _ in }
        }
        #expect(error?.code == .bufferFull && error?.message.contains("the first 5 of 8") == true)
        store.set(.full)
        let calls = store.calls
        try await eventually("Redis refuses for want of memory") { store.calls > calls + 1 }
        #expect(buffer.count == 5)
        async let left = buffer.flush(within: patience)
        try await eventually("the flush waits") { store.calls > calls + 2 }
        store.set(nil)
        #expect(await left == 0)
        #expect(store.stored == many.prefix(5).map(\.id))
    }

    @Test("An operation that Redis always refuses is refused alone and logged; the others are stored in order")
    func culprit() async throws {
        let buffer = buffer(operations: 100)
        let many = operations(20)
        store.state.withLock { $0.unwanted = many[7].id }
        let receipt = try await buffer.enqueue(many, queue: "q") { _ in }
        store.set(nil)
        #expect(await buffer.flush(within: patience) == 0)
        var others = many
        others.remove(at: 7)
        #expect(store.stored == others.map(\.id))
        guard case .failure(let error)? = receipt.outcome(7) else {
            Issue.record("it was not refused")
            return
        }
        #expect(error.code == .refused)
        #expect(log.count(containing: "is lost") == 1)
        // Later operations are sent in one call again.
        let calls = store.calls
        store.state.withLock { $0.unwanted = nil }
        _ = try await buffer.enqueue(operations(1), queue: "q") { _ in }
        try await eventually("one call") { store.calls == calls + 1 }
    }

    @Test("A caller that still waits gets the refusal as an error")
    func thrown() async throws {
        let buffer = buffer(operations: 100, patience: patience)
        let one = operations(1)
        store.set(nil)
        store.state.withLock { $0.unwanted = one[0].id }
        let error = await #expect(throws: OperationsError.self) {
            _ = try await buffer.enqueue(one, queue: "q") { _ in }
        }
        #expect(error?.code == .refused)
        #expect(buffer.count == 0 && log.count(containing: "is lost") == 0)
    }

    @Test("A task cancelled while the buffer is full throws CancellationError, and its buffered operations stay")
    func cancelled() async throws {
        let buffer = buffer(operations: 2, patience: .seconds(3_600))
        let many = operations(3)
        let task = Task { _ = try await buffer.enqueue(many, queue: "q") { _ in } }
        try await eventually("the buffer is full") { buffer.count == 2 }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        store.set(nil)
        #expect(await buffer.flush(within: patience) == 0)
        #expect(store.stored == many.prefix(2).map(\.id))
    }
}

/// A log handler that counts messages.
private final class Lines: LogHandler {
    private let lines = Mutex<[String]>([])

    func count(containing text: String) -> Int { lines.withLock { $0.count { $0.contains(text) } } }

    func log(event: LogEvent) { lines.withLock { $0.append(event.message.description) } }

    var logLevel: Logger.Level {
        get { .trace }
        set {}
    }
    var metadata: Logger.Metadata {
        get { [:] }
        set {}
    }
    subscript(metadataKey _: String) -> Logger.Metadata.Value? {
        get { nil }
        set {}
    }
}
