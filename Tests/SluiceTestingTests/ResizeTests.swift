import SluiceTesting
import Synchronization
import Testing

// An example of tests for an operation. README.md shows parts of this file.

struct Busy: Error {}

struct Resize: DistributedOperation {
    static let name = "image.resize"
    static let retryPolicy = RetryPolicy(attempts: 3, base: .seconds(60))
    let path: String
    var failures = 0

    func main(_ context: OperationContext) async throws -> String {
        if context.attempt <= failures { throw Busy() }
        if path.isEmpty { for await _ in AsyncStream<Void>.makeStream().stream {} }
        try Task.checkCancellation()
        return "\(path)@\(context.attempt)"
    }
}

let audit = Audit()

final class Audit: Sendable {
    private let kept = Mutex<[String]>([])
    var notes: [String] { kept.withLock { $0 } }
    func note(_ text: String) { kept.withLock { $0.append(text) } }
}

struct Upload: DistributedOperation {
    static let name = "file.upload"
    let file: String

    func main(_ context: OperationContext) async throws {
        context.progress(0)
        try await withTaskCancellationHandler {
            try await upload(file)
        } onCancel: {
            if let cancel = context.cancellation {
                audit.note("\(file): cancelled by \(cancel.by ?? "?"), \(cancel.reason)")
            }
        }
    }

    func upload(_ file: String) async throws {
        for await _ in AsyncStream<Void>.makeStream().stream {}
        try Task.checkCancellation()
    }
}

@Suite("An example operation, tested without Redis", .timeLimit(.minutes(60)))
struct ResizeTests {
    let sluice = InMemorySluice { $0.register(Resize.self) }

    @Test("The operation returns its result")
    func result() async throws {
        #expect(try await sluice.run(Resize(path: "a.png")) == "a.png@1")
    }

    @Test("The operation starts when its delay is over")
    func delay() async throws {
        let handle = try await sluice.client.enqueue(Resize(path: "a.png"), .delay(.seconds(3600)))
        try await sluice.drain()
        #expect(try await sluice.waiting(Resize.self).map(\.path) == ["a.png"])
        sluice.clock.advance(by: .seconds(3600))
        try await sluice.drain()
        #expect(try await handle.value == "a.png@1")
    }

    @Test("The operation is retried after a pause, and is dead after the last attempt")
    func retries() async throws {
        let handle = try await sluice.client.enqueue(Resize(path: "a.png", failures: 1))
        try await sluice.drain()
        #expect(try await handle.state() == .retrying)
        try await sluice.drainAll()
        #expect(try await handle.value == "a.png@2")
        let error = await #expect(throws: OperationsError.self) {
            try await sluice.run(Resize(path: "b.png", failures: 3))
        }
        #expect(error?.code == .dead)
    }

    @Test("A cancel ends the operation while it waits and while it runs")
    func cancels() async throws {
        let waiting = try await sluice.client.enqueue(Resize(path: "a.png"))
        try await waiting.cancel()
        #expect(try await waiting.state() == .cancelled)
        let running = try await sluice.client.enqueue(Resize(path: ""))
        try await sluice.withWorker {
            for try await status in running.changes where status.state == .executing {
                try await running.cancel(reason: "unwanted")
            }
        }
        let error = await #expect(throws: OperationsError.self) { try await running.value }
        #expect(error?.code == .cancelled)
    }

    @Test("The operation can note the requester and the reason of its cancel")
    func notesItsCancel() async throws {
        let sluice = InMemorySluice { $0.register(Upload.self) }
        let running = try await sluice.client.enqueue(Upload(file: "a.png"))
        try await sluice.withWorker {
            // A claimed operation is executing before its body has begun. Only progress shows that the body runs.
            for try await status in running.changes where status.state == .executing && status.progress != nil {
                try await running.cancel(reason: "unwanted")
            }
        }
        #expect(audit.notes.count == 1)
        #expect(audit.notes.first?.wholeMatch(of: /a.png: cancelled by .+@.+, unwanted/) != nil)
    }
}
