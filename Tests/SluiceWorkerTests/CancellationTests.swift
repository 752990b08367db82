import Foundation
import Logging
import Sluice
import SluiceWorker
import Synchronization
import TestSupport
import Testing

/// The cancels that bodies have read, by name.
private final class Readings: Sendable {
    private let all = Mutex<[String: OperationCancellation]>([:])

    func note(_ cancellation: OperationCancellation?, _ name: String) { all.withLock { $0[name] = cancellation } }
    subscript(name: String) -> OperationCancellation? { all.withLock { $0[name] } }
}

/// Waits until its task is cancelled.
private struct Upload: DistributedOperation {
    static let name = "upload"
    static let readings = Readings()

    func main(_ context: OperationContext) async throws {
        Self.readings.note(context.cancellation, "before")
        context.progress(0.5)
        // A stream without values ends when its task is cancelled.
        for await _ in AsyncStream<Never>.makeStream().stream {}
        Self.readings.note(context.cancellation, "async")
        try Task.checkCancellation()
    }
}

/// Blocks its thread until it is cancelled, as many subclasses of `Foundation.Operation` do.
private final class LegacyUpload: Operation, @unchecked Sendable {
    private let isOver = DispatchSemaphore(value: 0)

    override func main() {
        LocalOperation.current?.report(progress: 0.5)
        isOver.wait()
        Upload.readings.note(LocalOperation.current?.cancellation, "main")
    }

    override func cancel() {
        super.cancel()
        Upload.readings.note(LocalOperation.current?.cancellation, "cancel")
        isOver.signal()
    }
}

@Suite("The cancel that a body reads", .timeLimit(.minutes(60)))
struct CancellationTests {
    private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    @Test("has reason, requester and time of the request, in Swift concurrency and in a Foundation operation")
    func bothSides() async throws {
        let sluice = try await SluiceClient.test(
            TestServer.shared.endpoint.description,
            namespace: uniqueNamespace("cancellation")
        )
        let worker = Worker(client: sluice, configuration: .init(cancelGrace: patience), logger: logger) {
            $0.register(Upload.self)
            let options = LocalOperationOptions(grace: patience)
            $0.register(.foundation("legacy", options: options) { (_: Int) in LegacyUpload() })
        }
        let running = Task { try await worker.run() }
        let references = [
            try await sluice.enqueue(name: "upload"), try await sluice.enqueue(name: "legacy", arguments: 1),
        ]
        for reference in references {
            try await eventually("the body runs") { try await reference.progress() != nil }
        }
        let earliest = Date(timeIntervalSinceNow: -60)
        for reference in references {
            _ = try await reference.cancel(reason: "wrong file")
            try await eventually("it is cancelled") { try await reference.state() == .cancelled }
        }
        for name in ["async", "cancel", "main"] {
            let cancellation = try #require(Upload.readings[name], "\(name)")
            #expect(cancellation.reason == "wrong file" && cancellation.by == SluiceClient.identity)
            #expect(try #require(cancellation.requestedAt) > earliest)
        }
        #expect(Upload.readings["before"] == nil)
        worker.stop()
        try await running.value
        await sluice.close()
    }
}
