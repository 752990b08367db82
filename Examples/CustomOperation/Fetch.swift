import Foundation
import Synchronization

/// The asynchronous operation as it has been written by hand in every project: `start`, and `isExecuting` and `isFinished` with all their
/// announcements. Nothing in it knows of `LocalOperationQueue`.
class Fetch: Operation, @unchecked Sendable {
    // Unchecked: all that changes is guarded by `flags`.

    private struct Flags {
        var isExecuting = false
        var isEnding = false
        var isFinished = false
    }

    private let duration: Duration
    private let flags = Mutex(Flags())

    /// - Parameters:
    ///   - name: for people.
    ///   - duration: how long it takes.
    init(_ name: String, duration: Duration) {
        self.duration = duration
        super.init()
        self.name = name
    }

    override var isAsynchronous: Bool { true }
    override var isExecuting: Bool { flags.withLock { $0.isExecuting } }
    override var isFinished: Bool { flags.withLock { $0.isFinished } }

    override func start() {
        // One that was cancelled while it waited must finish too, or its queue waits for it for ever.
        if isCancelled { return finish() }
        willChangeValue(forKey: "isExecuting")
        flags.withLock { $0.isExecuting = true }
        didChangeValue(forKey: "isExecuting")
        // A cancel that came just now did not see it executing.
        if isCancelled { return finish() }
        let deadline = DispatchTime.now() + .milliseconds(Int(duration / .milliseconds(1)))
        DispatchQueue.global().asyncAfter(deadline: deadline) { [weak self] in self?.received() }
    }

    override func cancel() {
        super.cancel()
        if isExecuting { finish() }
    }

    /// The network calls back.
    func received() { finish() }

    /// Announces the end, once: the cancel and the network may both come.
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

/// The same with the classic mistake: neither the callback nor a cancel finishes it.
final class ForgetfulFetch: Fetch, @unchecked Sendable {
    override func received() {}
    override func cancel() {}
}
