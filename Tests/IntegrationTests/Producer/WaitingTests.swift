import Logging
import RedisBroker
import Sluice
import Synchronization
import TestSupport
import Testing

private struct Step: DistributedOperation {
    static let name = "step.by.step"
    func main(_ context: OperationContext) async throws -> Int { 1 }
}

/// Records the log lines of a client.
private final class LogLines: LogHandler {
    private let lines = Mutex<[String]>([])
    var metadata: Logger.Metadata {
        get { [:] }
        set {}
    }
    var logLevel: Logger.Level {
        get { .info }
        set {}
    }
    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { nil }
        set {}
    }

    var all: [String] { lines.withLock { $0 } }

    func log(event: LogEvent) {
        let queue = event.metadata?["queue"].map { "\($0)" } ?? ""
        lines.withLock { $0.append("\(event.level) \(event.message) \(queue)") }
    }
}

/// A client, and a worker that the test drives step by step.
private struct Puppet {
    let namespace = uniqueNamespace("wait")
    let broker: RedisBroker
    let sluice: SluiceClient
    let lines = LogLines()
    let worker = WorkerID()

    init() {
        let lines = lines
        let logger = Logger(label: "test") { _ in lines }
        let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let configuration = RedisBrokerConfiguration.patient(namespace: namespace)
        broker = RedisBroker(TestRedis.shared.endpoint, configuration: configuration, logger: quiet)
        sluice = SluiceClient(
            broker: broker,
            namespace: namespace,
            unservedPatience: .milliseconds(50),
            logger: logger
        )
    }

    func beat() throws {
        let info: [UInt8] = []
        let beat = Beat(
            worker: worker,
            epoch: 0,
            leaseMilliseconds: 3_600_000,
            intervalMilliseconds: 20_000,
            info: info
        )
        _ = try broker.beat(beat, queue: "default")
    }

    func claim() async throws -> ClaimedOperation {
        try beat()
        let claim = try await broker.claim(ClaimRequest(worker: worker, epoch: 0, capacity: 1), queue: "default")
        return try #require(claim.operations.first)
    }

    func report(_ claimed: ClaimedOperation, _ step: Int) async throws {
        let progress = Report.Content.progress(fraction: Double(step) / 100, message: "step \(step)")
        let report = Report(fence: claimed.fence, id: claimed.id, content: progress)
        #expect(try await broker.report([report], number: 0, worker: worker, queue: "default") == [true])
    }

    func complete(_ claimed: ClaimedOperation) async throws {
        let completion = Completion(fence: claimed.fence, id: claimed.id, tracked: true, result: Array("1".utf8))
        _ = try await broker.complete(
            [completion],
            isRepeat: false,
            worker: worker,
            thenClaim: nil,
            queue: "default"
        )
    }
}

@Suite("Waiting for an operation", .nothingRefused, .timeLimit(.minutes(60)))
struct WaitingTests {
    private let puppet = Puppet()

    @Test("Changes deliver each progress as soon as Redis stores it")
    func progress() async throws {
        let handle = try await puppet.sluice.enqueue(Step())
        let claimed = try await puppet.claim()
        let start = ContinuousClock.now
        var changes = handle.changes.makeAsyncIterator()
        #expect(try await changes.next()?.state == .executing)
        for step in 1...60 {
            try await puppet.report(claimed, step)
            #expect(try await changes.next()?.progress?.message == "step \(step)")
        }
        try await puppet.complete(claimed)
        #expect(try await changes.next()?.state == .finished)
        #expect(try await changes.next() == nil)
        // With polling alone, each progress would come one second after the previous one.
        expectPrompt("60 changes", since: start, promised: .seconds(6))
        puppet.broker.close()
    }

    @Test("Eight clients that follow one operation get each progress at once; a ninth gets it a second later")
    func followers() async throws {
        let handle = try await puppet.sluice.enqueue(Step())
        let claimed = try await puppet.claim()
        var followers = (0..<9).map { _ in handle.changes.makeAsyncIterator() }
        for index in followers.indices { #expect(try await followers[index].next()?.state == .executing) }
        try await puppet.report(claimed, 1)
        for index in followers.indices { #expect(try await followers[index].next()?.progress?.message == "step 1") }
        puppet.broker.close()
    }

    @Test("A value with a timeout throws on time and says what is missing; the operation continues")
    func limit() async throws {
        let sluice = puppet.sluice
        let handle = try await sluice.enqueue(Step())
        for timeout in [Duration.zero, .milliseconds(20)] {
            let error = await #expect(throws: OperationsError.self) { try await handle.value(timeout: timeout) }
            #expect(error?.code == .timedOut)
            #expect(error?.id == handle.id)
            let message = error?.message ?? ""
            #expect(message.contains("it is ready in queue default, which no live worker serves"), "\(message)")
            #expect(message.hasSuffix("sluice worker -q default -N \(puppet.namespace)"), "\(message)")
        }
        try puppet.beat()
        try await sluice.pause(queue: "default")
        let paused = await #expect(throws: OperationsError.self) { try await handle.value(timeout: .zero) }
        #expect(paused?.message.contains("which is paused") == true, "\(paused?.message ?? "")")
        try await sluice.resume(queue: "default")
        let claimed = try await puppet.claim()
        let running = await #expect(throws: OperationsError.self) { try await handle.value(timeout: .zero) }
        #expect(running?.message.hasSuffix("it is executing in queue default") == true, "\(running?.message ?? "")")
        try await puppet.complete(claimed)
        #expect(try await handle.value(timeout: .zero) == 1)
        #expect(try await handle.value(timeout: .seconds(Int64.max)) == 1)
        puppet.broker.close()
    }

    @Test("Changes with a timeout throw on time or for an unknown operation, and end after the terminal state")
    func limitedChanges() async throws {
        let handle = try await puppet.sluice.enqueue(Step())
        func follow(_ handle: OperationHandle<Step>, _ timeout: Duration) async -> ([OperationState], OperationsError?)
        {
            var states: [OperationState] = []
            do {
                for try await status in handle.changes(timeout: timeout) { states.append(status.state) }
                return (states, nil)
            } catch { return (states, error as? OperationsError) }
        }
        for timeout in [Duration.zero, .milliseconds(20)] {
            let (states, error) = await follow(handle, timeout)
            #expect(states == [.ready])
            #expect(error?.code == .timedOut)
            #expect(error?.message.contains("no live worker serves") == true)
        }
        try await puppet.complete(try await puppet.claim())
        let (states, error) = await follow(handle, .seconds(60))
        #expect(states == [.finished] && error == nil)
        let unknown = puppet.sluice.handle(OperationID(), of: Step.self)
        #expect(await follow(unknown, .seconds(60)).1?.code == .notFound)
        puppet.broker.close()
    }

    @Test("A wait for a queue without a live worker is logged once, and once more when a worker has come")
    func unserved() async throws {
        let sluice = puppet.sluice
        let handles = [try await sluice.enqueue(Step()), try await sluice.enqueue(Step())]
        let waits = handles.map { handle in Task { try await handle.value } }
        let follower = Task { for try await _ in handles[0].changes {} }
        let warning = "warning waiting for operations of a queue that no live worker serves; start one: sluice worker"
        let whole = "\(warning) -q default -N \(puppet.namespace) default"
        try await eventually("it is said") { puppet.lines.all == [whole] }
        for _ in handles { try await puppet.complete(try await puppet.claim()) }
        for wait in waits { #expect(try await wait.value == 1) }
        try await follower.value
        #expect(puppet.lines.all.count <= 2, "\(puppet.lines.all)")
        puppet.broker.close()
    }
}
