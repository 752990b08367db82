import Operations
import ServiceLifecycle
import SluiceOperator

/// Performs stored changes in this process, one after the other.
actor ChangeRunner {
    private let broker: any OperatorBroker
    private let view: PayloadView
    /// Called when a change has ended.
    private let onEnd: @Sendable () async -> Void
    private var task: Task<Void, Never>?

    init(_ broker: any OperatorBroker, view: PayloadView, onEnd: @escaping @Sendable () async -> Void) {
        (self.broker, self.view, self.onEnd) = (broker, view, onEnd)
    }

    /// Begins to perform the changes that no program performs.
    func start() {
        guard task == nil else { return }
        task = Task {
            await work()
            task = nil
        }
    }

    /// Waits until no change is left to perform here.
    func finish() async { await task?.value }

    func stop() { task?.cancel() }

    private func work() async {
        while !Task.isCancelled {
            let takenAt = ContinuousClock.now
            let lease = ChangeJobRun.lease.wholeMilliseconds
            guard let change = try? await broker.takeChange(leaseMilliseconds: lease) else { return }
            guard let run = ChangeJobRun(broker, change, view: view, takenAt: takenAt) else { continue }
            await run.run()
            await onEnd()
        }
    }
}

/// Takes changes over whose dashboard has ended, also if no page is open.
struct ChangeService: Service {
    private static let interval = Duration.seconds(5)

    let runner: ChangeRunner

    func run() async throws {
        try? await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                await runner.start()
                try await Task.sleep(for: Self.interval)
            }
        }
        await runner.stop()
        await runner.finish()
    }
}
