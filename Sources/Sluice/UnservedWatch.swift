import Logging
import Operations
import Synchronization

/// Logs a warning when tasks of this client wait for operations of a queue that no live worker serves. All waits for a
/// queue share one check.
final class UnservedWatch: Sendable {
    private let broker: any MonitorBroker
    private let namespace: String
    private let logger: Logger
    /// How long a wait takes until the queue is checked, and the time between two checks.
    private let patience: Duration
    private let state = Mutex<[String: (waits: Int, task: Task<Void, Never>)]>([:])

    init(_ broker: any MonitorBroker, namespace: String, patience: Duration, logger: Logger) {
        self.broker = broker
        self.namespace = namespace
        self.patience = patience
        self.logger = logger
    }

    /// Watches the queue while `wait` runs.
    func during<Result: Sendable>(
        waitsIn queue: String,
        _ wait: () async throws -> Result
    ) async rethrows -> Result {
        begin(queue)
        defer { end(queue) }
        return try await wait()
    }

    private func begin(_ queue: String) {
        state.withLock { state in
            if state[queue] == nil { state[queue] = (0, Task { await self.watch(queue) }) }
            state[queue]?.waits += 1
        }
    }

    private func end(_ queue: String) {
        state.withLock { state in
            state[queue]?.waits -= 1
            guard let left = state[queue], left.waits == 0 else { return }
            left.task.cancel()
            state[queue] = nil
        }
    }

    private func watch(_ queue: String) async {
        var isUnserved = false
        while (try? await Task.sleep(for: patience)) != nil {
            guard let snapshot = try? await broker.snapshot(queue: queue, executingRows: 0), !Task.isCancelled else {
                continue
            }
            if isUnserved != snapshot.liveWorkers.isEmpty {
                isUnserved.toggle()
                say(isUnserved, queue)
            }
        }
    }

    private func say(_ isUnserved: Bool, _ queue: String) {
        if isUnserved {
            let fix = Self.fix(queue, namespace: namespace)
            logger.warning(
                "waiting for operations of a queue that no live worker serves; start one: \(fix)",
                metadata: ["queue": "\(queue)"]
            )
        } else {
            logger.info("a live worker now serves the queue", metadata: ["queue": "\(queue)"])
        }
    }

    /// The command that starts a worker of the queue. `NameRule` makes both names safe in a shell.
    static func fix(_ queue: String, namespace: String) -> String {
        "sluice worker -q \(queue)" + (namespace == SluiceDefaults.namespace ? "" : " -N \(namespace)")
    }
}
