import Foundation
import Logging
import RedisBroker
import RedisClient
import Sluice
import WorkerRuntime
import TestSupport
import Testing

private struct Resize: DistributedOperation {
    static let name = "image.resize"
    let path: String
    let width: Int

    func main(_ context: OperationContext) async throws -> Resized {
        context.progress(0.4, "pass 2")
        context.log("resizing \(path)")
        return Resized(path: "\(path)@\(width)", attempt: context.attempt)
    }
}

private struct Resized: Codable, Sendable, Equatable {
    let path: String
    let attempt: Int
}

private struct Endless: DistributedOperation {
    static let name = "endless"

    func main(_ context: OperationContext) async throws {
        context.progress(0.5, "half")
        try await untilCancelled()
    }
}

private struct Broken: DistributedOperation {
    struct Cracked: Error, CustomStringConvertible { let description = "cracked" }
    static let name = "broken"
    static let retryPolicy = RetryPolicy(attempts: 2, base: .milliseconds(10))

    func main(_ context: OperationContext) async throws { throw Cracked() }
}

/// A client and a worker of one namespace.
private struct Setup {
    let sluice: SluiceClient
    private let worker: WorkerService
    private let run: Task<Void, any Error>

    init() async throws {
        let namespace = uniqueNamespace("prod")
        let redis = TestRedis.shared
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        sluice = try await SluiceClient.test(redis.url(as: .producer), namespace: namespace)
        var registry = OperationRegistry()
        registry.register(Resize.self)
        registry.register(Endless.self)
        registry.register(Broken.self)
        let endpoint = try RedisEndpoint(url: redis.url(as: .worker))
        let broker = RedisBroker(endpoint, configuration: .patient(namespace: namespace), logger: logger)
        let worker = WorkerService(broker: broker, registry: registry, logger: logger)
        self.worker = worker
        run = Task {
            try await worker.run()
            broker.close()
        }
    }

    func end() async throws {
        worker.stop()
        try await run.value
        await sluice.close()
    }
}

@Suite("A producer's client", .nothingRefused, .timeLimit(.minutes(60)))
struct ProducerTests {
    @Test("The value of a handle is the result of main")
    func value() async throws {
        let setup = try await Setup()
        let handle = try await setup.sluice.enqueue(Resize(path: "a.png", width: 200), .priority(.high), .tags("x"))
        #expect(try await handle.value == Resized(path: "a.png@200", attempt: 1))
        #expect(try await handle.state() == .finished)
        #expect(try await handle.progress() == OperationProgress(fraction: 0.4, message: "pass 2"))
        let same = setup.sluice.handle(handle.id, of: Resize.self)
        #expect(try await same.value.path == "a.png@200")
        try await setup.end()
    }

    @Test("Changes begin with the current state and end with the terminal one")
    func changes() async throws {
        let setup = try await Setup()
        let handle = try await setup.sluice.enqueue(Resize(path: "b", width: 1), .delay(.seconds(3600)))
        var states: [OperationState] = []
        for try await change in handle.changes {
            // After the first change, let the operation run.
            if states.isEmpty { try await setup.sluice.retry([handle.id]) }
            states.append(change.state)
        }
        #expect(states.first == .scheduled)
        #expect(states.last == .finished)
        try await setup.end()
    }

    @Test("A cancel with a reason ends the operation, and its value throws the reason")
    func cancel() async throws {
        let setup = try await Setup()
        let handle = try await setup.sluice.enqueue(Endless())
        for try await change in handle.changes where change.progress != nil {
            guard case .requested = try await handle.cancel(reason: "wrong file") else { continue }
        }
        let error = await #expect(throws: OperationsError.self) { try await handle.value }
        #expect(error?.code == .cancelled)
        #expect(error?.message == "it was cancelled: wrong file")
        #expect(try await handle.cancel() == .alreadyEnded(.cancelled))
        try await setup.end()
    }

    @Test("A dead operation's value throws its last stored error; a retry runs it again")
    func dead() async throws {
        let setup = try await Setup()
        let handle = try await setup.sluice.enqueue(Broken())
        let error = await #expect(throws: OperationsError.self) { try await handle.value }
        #expect(error?.code == .dead)
        #expect(error?.message.contains("cracked") == true)
        #expect(error?.id == handle.id)
        let status = try await handle.reference.status()
        #expect(status.attempt == 2)
        #expect(status.lastFailure?.attempt == 2)
        #expect(try await setup.sluice.retry([handle.id]) == [.done])
        await #expect(throws: OperationsError.self) { try await handle.value }
        #expect(try await setup.sluice.remove([handle.id]) == [.done])
        await #expect(throws: OperationsError.self) { try await handle.state() }
        try await setup.end()
    }

    @Test(
        "A bulk enqueue keeps the order and stores all operations or none; untracked ones have no value"
    )
    func bulk() async throws {
        let setup = try await Setup()
        let error = await #expect(throws: OperationsError.self) {
            try await setup.sluice.pause(queue: "default", for: .zero)
        }
        #expect(error?.code == .invalidOption)
        try await setup.sluice.pause(queue: "default")
        let small = (0..<1234).map { Resize(path: "\($0)", width: $0) }
        let large = Resize(path: String(repeating: "x", count: SluiceDefaults.operationBytes), width: 0)
        let refused = await #expect(throws: OperationsError.self) { try await setup.sluice.enqueue(small + [large]) }
        #expect(refused?.code == .tooLarge)
        let handles = try await setup.sluice.enqueue(small)
        #expect(handles.map(\.id.description) == handles.map(\.id.description).sorted())
        let next = try await setup.sluice.broker.page(state: .ready, queue: "default", cursor: nil, limit: 100)
        #expect(next.operations.map(\.record.header.id) == handles.prefix(100).map(\.id))
        let untracked = try await setup.sluice.enqueue(Resize(path: "u", width: 0), .untracked)
        let ready = try await setup.sluice.broker.snapshot(queue: "default", executingRows: 0).counts[.ready]
        #expect(ready == 1235)
        try await setup.sluice.resume(queue: "default")
        for (index, handle) in handles.enumerated() { #expect(try await handle.value.path == "\(index)@\(index)") }
        let refusal = await #expect(throws: OperationsError.self) { try await untracked.value }
        #expect(refusal?.code == .refused)
        try await setup.end()
    }

    @Test(
        "Keyed runs: a fresh result is reused, the latest replaces a running one, automatic keys use the arguments"
    )
    func keyed() async throws {
        let setup = try await Setup()
        let keyed = setup.sluice.keyed(freshFor: .seconds(3600))
        let first = try await keyed.run("image", Resize(path: "a", width: 1))
        #expect(try await first.value.path == "a@1")
        let again = try await keyed.run("image", Resize(path: "b", width: 2))
        #expect(again.id == first.id && !again.isNew)
        #expect(try await again.value.path == "a@1")
        let former = try await keyed.run("work", ifExists: .replace, Endless())
        for try await change in former.changes where change.progress != nil { break }
        let latest = try await keyed.run("work", ifExists: .replace, Resize(path: "c", width: 3))
        #expect(latest.isNew)
        #expect(try await latest.value.path == "c@3")
        #expect(try await former.state() == .cancelled)
        let automatic = try await setup.sluice.enqueue(
            Resize(path: "d", width: 4),
            .unique(.automatic),
            .delay(.seconds(3600))
        )
        let same = try await setup.sluice.enqueue(Resize(path: "d", width: 4), .unique(.automatic))
        let other = try await setup.sluice.enqueue(Resize(path: "d", width: 5), .unique(.automatic))
        #expect(same.id == automatic.id && other.id != automatic.id)
        try await setup.end()
    }

    @Test("An operation can be enqueued by name and JSON, and a repeated id is one operation")
    func untyped() async throws {
        let setup = try await Setup()
        let key = OperationID(key: "order 4711")
        let arguments: JSONValue = ["path": "c", "width": 3]
        let first = try await setup.sluice.enqueue(name: "image.resize", arguments: JSONArguments(arguments), .id(key))
        let second = try await setup.sluice.enqueue(name: "image.resize", arguments: JSONArguments(arguments), .id(key))
        #expect(first.isNew && !second.isNew)
        let result = try JSONValue(parsing: try await second.result())
        #expect(result["path"]?.stringValue == "c@3")
        try await setup.end()
    }

    @Test("Wrong options are refused before anything is sent")
    func mistakes() async throws {
        let setup = try await Setup()
        func code(_ call: () async throws -> Void) async -> OperationsError.Code? {
            do { try await call() } catch { return (error as? OperationsError)?.code }
            return nil
        }
        let sluice = setup.sluice
        #expect(await code { try await sluice.enqueue(Endless(), .queue("a b")) } == .invalidName)
        #expect(await code { try await sluice.enqueue(Endless(), .attempts(0)) } == .invalidOption)
        #expect(await code { try await sluice.enqueue(Endless(), .delay(.seconds(-1))) } == .invalidOption)
        let one = OperationID()
        #expect(await code { try await sluice.enqueue([Endless(), Endless()], .id(one)) } == .invalidOption)
        #expect(await code { try await sluice.enqueue([Endless()]) { _ in .queue("b") } } == .invalidOption)
        #expect(await code { try await sluice.enqueue([Endless()]) { _ in .durability(.disk) } } == .invalidOption)
        #expect(await code { try await sluice.enqueue(name: "x{y}") } == .invalidName)
        let large = String(repeating: "x", count: SluiceDefaults.operationBytes)
        #expect(await code { try await sluice.enqueue(name: "x", arguments: .init(large)) } == .tooLarge)
        #expect(await code { _ = try await SluiceClient.connect(to: "http://h") } == .invalidOption)
        #expect(
            await code {
                let timeouts = SluiceConfiguration.Timeouts(command: .milliseconds(200))
                _ = try await SluiceClient.connect(.init(.url("redis://127.0.0.1:1"), timeouts: timeouts))
            }
                == .unavailable
        )
        // The worker registers its queue, and may still be starting.
        try await eventually("no queue but the worker's is known") { try await sluice.broker.queues() == ["default"] }
        try await setup.end()
    }
}
