import Operations
import ServiceLifecycle
import SluiceOperator

/// Performs stored changes in this process, one after the other.
actor ChangeRunner {
    private let broker: any OperatorBroker
    private let view: PayloadView
    private let lease: Duration
    /// Called when a change has ended.
    private let onEnd: @Sendable () async -> Void
    private var task: Task<Void, Never>?
    private var nextLook = ContinuousClock.now
    /// Changes that this version cannot read.
    private var unreadable: Set<OperationID> = []

    init(
        _ broker: any OperatorBroker,
        view: PayloadView,
        lease: Duration,
        onEnd: @escaping @Sendable () async -> Void
    ) {
        (self.broker, self.view, self.lease, self.onEnd) = (broker, view, lease, onEnd)
    }

    /// Begins to perform the changes that no program performs.
    func start() {
        guard task == nil else { return }
        task = Task {
            await work()
            task = nil
        }
    }

    /// Begins, unless it has looked within the last seconds: for programs that have no `ChangeService`.
    func startIfDue() {
        let now = ContinuousClock.now
        guard now >= nextLook else { return }
        nextLook = now + ChangeService.interval
        start()
    }

    /// Waits until no change is left to perform here.
    func finish() async { await task?.value }

    func stop() { task?.cancel() }

    private func work() async {
        while !Task.isCancelled {
            guard let next = try? await broker.nextChange(leaving: unreadable) else { return }
            guard ChangeJobRun.isReadable(next) else {
                unreadable.insert(next.id)
                continue
            }
            do {
                guard let run = try await take(next) else { continue }
                await run.run()
                await onEnd()
            } catch { return }
        }
    }

    /// - Returns: nil if another program was faster.
    private func take(_ next: StoredChange) async throws -> ChangeJobRun? {
        let takenAt = ContinuousClock.now
        let milliseconds = lease.wholeMilliseconds
        let taken = try await broker.takeChange(next.id, fence: next.fence, leaseMilliseconds: milliseconds)
        return taken.flatMap { ChangeJobRun(broker, $0, view: view, lease: lease, takenAt: takenAt) }
    }
}

/// Takes changes over whose dashboard has ended, also if no page is open.
struct ChangeService: Service {
    static let interval = Duration.seconds(5)

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
