import Foundation
import Synchronization

/// The hand-written asynchronous operation of every project: `start`, `isExecuting` and `isFinished` with all
/// notifications.
///
/// The class does not know `LocalOperationQueue`.
class Fetch: Operation, @unchecked Sendable {
    // Unchecked: `flags` guards all mutable state.

    private struct Flags {
        var isExecuting = false
        var isEnding = false
        var isFinished = false
    }

    private let duration: Duration
    private let flags = Mutex(Flags())

    /// - Parameters:
    ///   - name: the name to print.
    ///   - duration: the duration of the fetch.
    init(_ name: String, duration: Duration) {
        self.duration = duration
        super.init()
        self.name = name
    }

    override var isAsynchronous: Bool { true }
    override var isExecuting: Bool { flags.withLock { $0.isExecuting } }
    override var isFinished: Bool { flags.withLock { $0.isFinished } }

    override func start() {
        // An operation that was cancelled while it waited must finish as well, or its queue waits for it forever.
        if isCancelled { return finish() }
        willChangeValue(forKey: "isExecuting")
        flags.withLock { $0.isExecuting = true }
        didChangeValue(forKey: "isExecuting")
        // A cancel at this moment may not have seen the operation executing.
        if isCancelled { return finish() }
        let deadline = DispatchTime.now() + .milliseconds(Int(duration / .milliseconds(1)))
        DispatchQueue.global().asyncAfter(deadline: deadline) { [weak self] in self?.received() }
    }

    override func cancel() {
        super.cancel()
        if isExecuting { finish() }
    }

    /// The callback of the network.
    func received() { finish() }

    /// Announces the end once, even if both a cancel and the network end the operation.
    final func finish() {
        let isFirst = flags.withLock { flags -> Bool in
            defer { flags.isEnding = true }
            return !flags.isEnding
        }
        guard isFirst else { return }
        willChangeValue(forKey: "isExecuting")
        willChangeValue(forKey: "isFinished")
        flags.withLock { flags in
            flags.isExecuting = false
            flags.isFinished = true
        }
        didChangeValue(forKey: "isExecuting")
        didChangeValue(forKey: "isFinished")
    }
}

/// The classic mistake: neither the callback nor a cancel finishes the operation.
final class ForgetfulFetch: Fetch, @unchecked Sendable {
    override func received() {}
    override func cancel() {}
}
