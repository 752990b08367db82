import Foundation
import Operations
import Synchronization
import TestSupport
import Testing

@testable import BrokerModel
@testable import WorkerRuntime

/// An asynchronous Foundation operation that the test finishes. A cancel ends it only if `listens` is true.
private class Manual: Foundation.Operation, @unchecked Sendable {
    private let state = Mutex((executing: false, finished: false))
    let listens: Bool
    let seen: Mutex<[String]>

    init(listens: Bool) {
        self.listens = listens
        seen = Mutex([])
    }

    override var isAsynchronous: Bool { true }
    override var isExecuting: Bool { state.withLock { $0.executing } }
    override var isFinished: Bool { state.withLock { $0.finished } }

    override func start() {
        // Reported first: a test may finish the operation as soon as it executes.
        LocalOperation.current?.report(log: "\(queuePriority.rawValue) \(qualityOfService == .utility) \(name ?? "")")
        state.withLock { $0.executing = true }
        if isCancelled { finish() }
    }

    override func cancel() {
        super.cancel()
        if listens, isExecuting { finish() }
    }

    func finish() {
        willChangeValue(forKey: "isFinished")
        state.withLock { $0 = (false, true) }
        didChangeValue(forKey: "isFinished")
    }
}

private final class Doubling: Foundation.Operation, @unchecked Sendable {
    let number: Int
    private(set) var doubled: Int?
    init(_ number: Int) { self.number = number }
    override func main() { doubled = number * 2 }
}

private struct Oops: Error {}

private actor Account {
    private var sum = 0
    func add(_ amount: Int) throws -> Int {
        guard amount > 0 else { throw Oops() }
        sum += amount
        return sum
    }
}

private struct Divide: DistributedOperation {
    static let name = "divide"
    func main(_ context: OperationContext) async throws -> [String: Double] { ["share": .nan] }
}

@Suite("Ways to write an operation of a worker", .timeLimit(.minutes(60)))
struct WaysTests {
    @Test("A body whose result cannot be stored is dead after one attempt, and the error names the place")
    func noJSON() async throws {
        let harness = Harness(register: {
            $0.register(OperationDefinition<Void, [Double]>("ratio") { [1, .infinity] })
            $0.register(Divide.self)
        })
        harness.start()
        for (name, place) in [("ratio", "inf is no JSON value"), ("divide", "\"share\": nan is no JSON value")] {
            let id = try await harness.broker.put(name)
            #expect(try await harness.reaches(.dead, id))
            let error = try #require(try await harness.error(id))
            #expect(error.type == "result" && error.message.hasSuffix(place), "\(error)")
            #expect(try await harness.detail(id)?.record.header.failedAttempts == 1)
        }
        try await harness.stop()
    }

    @Test("A worker runs closures by name, with typed arguments and results or without")
    func closures() async throws {
        struct Crop: Codable { let path: String, width: Int }
        let harness = Harness(register: {
            $0.register(OperationDefinition("crop") { (crop: Crop) in [crop.path: crop.width] })
            $0.register(OperationDefinition("silent") { (_: [Int]) in })
            $0.register(OperationDefinition<Void, Int>("count") { 3 })
            $0.register(OperationDefinition<Void, Void>("nothing") {})
        })
        harness.start()
        let crop = try await harness.broker.put("crop", #"{"path":"a.png","width":3}"#)
        let silent = try await harness.broker.put("silent", "[1]")
        let count = try await harness.broker.put("count", #"{"whatever":1}"#)
        let nothing = try await harness.broker.put("nothing")
        let wrong = try await harness.broker.put("crop", #"{"path":"a.png"}"#)
        for id in [crop, silent, count, nothing] { #expect(try await harness.reaches(.finished, id)) }
        #expect(try await harness.result(crop) == #"{"a.png":3}"#)
        #expect(try await harness.result(silent) ?? "" == "")
        #expect(try await harness.result(count) == "3")
        #expect(try await harness.reaches(.dead, wrong))
        let error = try await harness.error(wrong)
        #expect(error?.type == "arguments" && error?.verdict == .final && error?.attempt == 1)
        #expect(error?.message == #"the arguments of "crop" do not fit: "width" is missing"#)
        try await harness.stop()
    }

    @Test("Several closures run as one operation, at the same time and all to their end")
    func concurrent() async throws {
        let (both, first, second) = (Latch(), Latch(), Latch())
        let bodies: [@Sendable (Int) async throws -> Int] = [
            { number in
                first.open()
                await both.wait()
                return number
            },
            { number in
                second.open()
                await both.wait()
                return number * 10
            },
        ]
        let harness = Harness(configuration: .quick(slots: 1), register: { $0.register(.concurrent("both", bodies)) })
        harness.start()
        let id = try await harness.broker.put("both", "7")
        await first.wait()
        await second.wait()
        both.open()
        #expect(try await harness.reaches(.finished, id))
        #expect(try await harness.result(id) == "[7,70]")
        try await harness.stop()
    }

    @Test("The result and the error of a bound method become those of the operation")
    func method() async throws {
        let account = Account()
        let harness = Harness(register: {
            $0.register(
                OperationDefinition("account.add", target: account) { account in { try await account.add($0) } },
                retryPolicy: .never
            )
        })
        harness.start()
        let good = try await harness.broker.put("account.add", "5")
        #expect(try await harness.reaches(.finished, good))
        #expect(try await harness.result(good) == "5")
        let bad = try await harness.broker.put("account.add", "-5")
        #expect(try await harness.reaches(.dead, bad))
        let error = try await harness.error(bad)
        #expect(error?.type == "Oops" && error?.verdict == .exhausted)
        try await harness.stop()
    }

    @Test("Blocking bodies run on separate threads and detect a cancel or timeout by checking for it")
    func blocking() async throws {
        let count = ProcessInfo.processInfo.activeProcessorCount * 3
        let inside = Mutex(0)
        let gate = Latch()
        let harness = Harness(
            configuration: .quick(slots: count + 2),
            register: {
                $0.register(
                    .blocking("block") { (_: Int) in
                        inside.withLock { $0 += 1 }
                        gate.block()
                        return LocalOperation.current?.context?.attempt
                    }
                )
                $0.register(
                    .blocking("watch", options: LocalOperationOptions(retry: .never)) { (_: Int) in
                        while true {
                            LocalOperation.current?.report(progress: 0.5, "turning")
                            try LocalOperation.current?.checkCancellation()
                        }
                    },
                    retryPolicy: .never
                )
            }
        )
        harness.start()
        var blocked: [OperationID] = []
        for _ in 0..<count { blocked.append(try await harness.broker.put("block", "1")) }
        // All bodies block at the same time, more than the cooperative pool has threads, and tasks continue.
        #expect(await comesTrue { inside.withLock { $0 } == count })
        let cancelled = try await harness.broker.put("watch", "1")
        #expect(try await comesTrue { try await harness.detail(cancelled)?.progress?.message == "turning" })
        _ = try await harness.cancel(cancelled)
        #expect(try await harness.reaches(.cancelled, cancelled))
        let late = try await harness.broker.put("watch", "1", retry: .never, runTimeout: .milliseconds(50))
        #expect(try await harness.reaches(.dead, late))
        #expect(try await harness.error(late)?.type == "timeout")
        gate.open()
        for id in blocked { #expect(try await harness.reaches(.finished, id)) }
        #expect(try await harness.result(blocked[0]) == "1")
        try await harness.stop()
    }

    @Test("Foundation operations run unchanged, with result, name, priority and quality of service")
    func foundation() async throws {
        let made = Mutex<[Manual]>([])
        let harness = Harness(register: {
            $0.register(
                .foundation("legacy.double") { (number: Int) in
                    Doubling(number)
                } result: {
                    $0.doubled
                }
            )
            $0.register(
                .foundation("legacy.manual", options: LocalOperationOptions(qualityOfService: .utility)) {
                    (listens: Bool) in
                    let operation = Manual(listens: listens)
                    made.withLock { $0.append(operation) }
                    return operation
                }
            )
        })
        harness.start()
        let doubled = try await harness.broker.put("legacy.double", "21")
        #expect(try await harness.reaches(.finished, doubled))
        #expect(try await harness.result(doubled) == "42")
        let id = OperationID()
        let envelope = OperationEnvelope(name: "legacy.manual", arguments: Array("true".utf8))
        let urgent = NewOperation(id: id, priority: .high, envelope: envelope.encoded())
        _ = try await harness.broker.enqueue([urgent], queue: "default")
        #expect(await comesTrue { made.withLock { $0.first?.isExecuting } == true })
        #expect(try await harness.state(id) == .executing)
        made.withLock { $0.first }?.finish()
        #expect(try await harness.reaches(.finished, id))
        #expect(try await harness.lines(id) == ["4 true legacy.manual"])
        let cancelled = try await harness.broker.put("legacy.manual", "true")
        #expect(await comesTrue { made.withLock { $0.last?.isExecuting } == true })
        _ = try await harness.cancel(cancelled)
        #expect(try await harness.reaches(.cancelled, cancelled))
        #expect(made.withLock { $0.last?.isCancelled } == true)
        try await harness.stop()
    }

    @Test("A Foundation operation that never finishes ends at its timeout; one that cancels itself is discarded")
    func endless() async throws {
        let options = LocalOperationOptions(runTimeout: .milliseconds(50), grace: .milliseconds(50))
        let made = Mutex<[Manual]>([])
        let harness = Harness(
            configuration: .quick(slots: 1),
            register: {
                $0.register(
                    .foundation("stuck", options: options) { (listens: Bool) in
                        let operation = Manual(listens: listens)
                        made.withLock { $0.append(operation) }
                        return operation
                    },
                    retryPolicy: .never
                )
            }
        )
        harness.start()
        let stuck = try await harness.broker.put("stuck", "false")
        #expect(try await harness.reaches(.dead, stuck))
        #expect(try await harness.error(stuck)?.type == "timeout")
        // The operation ends after its grace even if the cancel has not reached the instance yet.
        #expect(await comesTrue { made.withLock { $0.first?.isCancelled } == true })
        // The only slot is free.
        let quitter = try await harness.broker.put("stuck", "true", runTimeout: .seconds(60))
        #expect(await comesTrue { made.withLock { $0.count == 2 && $0[1].isExecuting } })
        made.withLock { $0[1] }.cancel()
        #expect(try await harness.reaches(.cancelled, quitter))
        #expect(try await harness.error(quitter)?.verdict == .discarded)
        try await harness.stop()
    }
}
