import Foundation
import Operations

/// A common interface for both queues: one suite tests both.
enum Implementation: String, CaseIterable, Sendable, CustomStringConvertible {
    case sluice, foundation

    var description: String { rawValue }

    func queue(_ limit: Int = 1, suspended: Bool = false) -> any QueueAdapter {
        let queue: any QueueAdapter = self == .sluice ? SluiceQueue(limit) : FoundationQueue(limit)
        queue.isSuspended = suspended
        return queue
    }

    /// Returns an operation that notes `+name`, passes the gate, and notes `-name`.
    func operation(_ name: String, _ journal: Journal, gate: Gate? = nil) -> any OperationAdapter {
        switch self {
        case .sluice:
            SluiceOperation(
                ValueOperation(LocalOperationOptions(name: name)) {
                    journal.note("+\(name)")
                    await gate?.wait()
                    journal.note("-\(name)")
                }
            )
        case .foundation:
            FoundationOperation(
                BlockOperation {
                    journal.note("+\(name)")
                    gate?.block()
                    journal.note("-\(name)")
                }
            )
        }
    }

    /// Returns an operation that notes its current queue.
    func operation(asking journal: Journal) -> any OperationAdapter {
        switch self {
        case .sluice:
            SluiceOperation(
                ValueOperation(LocalOperationOptions(name: "asking")) {
                    journal.note(
                        "\(LocalOperationQueue.current?.name ?? "none"), \(LocalOperation.current?.name ?? "none")"
                    )
                }
            )
        case .foundation:
            // Foundation has no current operation, so only the queue is noted.
            FoundationOperation(BlockOperation { journal.note("\(OperationQueue.current?.name ?? "none"), asking") })
        }
    }
}

protocol QueueAdapter: AnyObject, Sendable {
    var limit: Int { get set }
    var isSuspended: Bool { get set }
    var count: Int { get }
    var name: String { get }
    func add(_ operation: any OperationAdapter)
    func addBarrier(_ name: String, _ journal: Journal)
    func cancelAll()
    func allFinished() async
}

protocol OperationAdapter: AnyObject, Sendable {
    var isReady: Bool { get }
    var isExecuting: Bool { get }
    var isFinished: Bool { get }
    var isCancelled: Bool { get }
    var priority: OperationPriority { get set }
    var dependencyCount: Int { get }
    func depend(on other: any OperationAdapter) throws
    func undepend(on other: any OperationAdapter)
    func cancel()
    func start() async throws
    func finished() async
    func onEnd(_ hook: @escaping @Sendable () -> Void)
}

final class SluiceQueue: QueueAdapter {
    let queue: LocalOperationQueue
    init(_ limit: Int) { queue = LocalOperationQueue(name: "q", maxConcurrentOperationCount: limit) }
    var limit: Int {
        get { queue.maxConcurrentOperationCount }
        set { queue.maxConcurrentOperationCount = newValue }
    }
    var isSuspended: Bool {
        get { queue.isSuspended }
        set { queue.isSuspended = newValue }
    }
    var count: Int { queue.operationCount }
    var name: String { queue.name }
    func add(_ operation: any OperationAdapter) {
        do { try queue.add(ours(operation)) } catch { preconditionFailure("\(error)") }
    }
    func addBarrier(_ name: String, _ journal: Journal) { queue.addBarrier { journal.note("|\(name)") } }
    func cancelAll() { queue.cancelAllOperations() }
    func allFinished() async { try? await queue.waitUntilAllOperationsAreFinished() }
}

private func ours(_ operation: any OperationAdapter) -> LocalOperation {
    guard let operation = operation as? SluiceOperation else { preconditionFailure("of the other implementation") }
    return operation.operation
}

final class SluiceOperation: OperationAdapter {
    let operation: LocalOperation
    init(_ operation: LocalOperation) { self.operation = operation }
    var isReady: Bool { operation.isReady }
    var isExecuting: Bool { operation.isExecuting }
    var isFinished: Bool { operation.isFinished }
    var isCancelled: Bool { operation.isCancelled }
    var priority: OperationPriority {
        get { operation.priority }
        set { operation.priority = newValue }
    }
    var dependencyCount: Int { operation.dependencies.count }
    func depend(on other: any OperationAdapter) throws { try operation.addDependency(ours(other), onFailure: .run) }
    func undepend(on other: any OperationAdapter) { operation.removeDependency(ours(other)) }
    func cancel() { operation.cancel() }
    func start() async throws { try await operation.start() }
    func finished() async { _ = try? await operation.waitUntilFinished() }
    func onEnd(_ hook: @escaping @Sendable () -> Void) { operation.onEnd { _ in hook() } }
}

final class FoundationQueue: QueueAdapter {
    let queue = OperationQueue()
    init(_ limit: Int) {
        queue.maxConcurrentOperationCount = limit
        queue.name = "q"
    }
    var limit: Int {
        get { queue.maxConcurrentOperationCount }
        set { queue.maxConcurrentOperationCount = newValue }
    }
    var isSuspended: Bool {
        get { queue.isSuspended }
        set { queue.isSuspended = newValue }
    }
    var count: Int { queue.operationCount }
    var name: String { queue.name ?? "" }
    func add(_ operation: any OperationAdapter) { queue.addOperation(theirs(operation)) }
    func addBarrier(_ name: String, _ journal: Journal) { queue.addBarrierBlock { journal.note("|\(name)") } }
    func cancelAll() { queue.cancelAllOperations() }
    func allFinished() async { await onThread { self.queue.waitUntilAllOperationsAreFinished() } }
}

private func theirs(_ operation: any OperationAdapter) -> Operation {
    guard let operation = operation as? FoundationOperation else { preconditionFailure("of the other implementation") }
    return operation.operation
}

final class FoundationOperation: OperationAdapter {
    let operation: Operation
    init(_ operation: Operation) { self.operation = operation }
    var isReady: Bool { operation.isReady }
    var isExecuting: Bool { operation.isExecuting }
    var isFinished: Bool { operation.isFinished }
    var isCancelled: Bool { operation.isCancelled }
    var priority: OperationPriority {
        get { OperationPriority.allCases.first { $0.queuePriority == operation.queuePriority.rawValue } ?? .normal }
        set { operation.queuePriority = Operation.QueuePriority(rawValue: newValue.queuePriority) ?? .normal }
    }
    var dependencyCount: Int { operation.dependencies.count }
    func depend(on other: any OperationAdapter) { operation.addDependency(theirs(other)) }
    func undepend(on other: any OperationAdapter) { operation.removeDependency(theirs(other)) }
    func cancel() { operation.cancel() }
    func start() async { await onThread { self.operation.start() } }
    func finished() async { await onThread { self.operation.waitUntilFinished() } }
    func onEnd(_ hook: @escaping @Sendable () -> Void) { operation.completionBlock = hook }
}

/// Runs blocking work on a separate thread.
func onThread(_ work: @escaping @Sendable () -> Void) async {
    await withCheckedContinuation { continuation in
        Thread.detachNewThread {
            work()
            continuation.resume()
        }
    }
}
