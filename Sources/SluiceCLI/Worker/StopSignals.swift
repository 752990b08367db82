import Dispatch
import Foundation
import ServiceLifecycle
import Synchronization

/// The signals that end a worker: the first begins the drain, the second gives everything back now, the third ends the process.
///
/// A terminal that closes sends SIGHUP several times (the kernel and the shell each do), so only one that comes first counts.
final class StopSignals: Service {
    /// Everything that would end the process if the worker did not listen to it, except for what its parent has it ignore. A worker
    /// listens to SIGINT and SIGTERM all the same: a script has its background programs ignore SIGINT.
    static let heard = (EndingSignals.all + EndingSignals.unspecific).filter {
        [SIGINT, SIGTERM].contains($0) || !EndingSignals.ignoredAtStart.contains($0)
    }
    /// A worker that was told twice is gone after this time, whatever hangs.
    private static let patience: DispatchTimeInterval = .milliseconds(1_900)

    private struct State {
        var received: [Int32] = []
        /// What the first and the second signal do; nil while there is no worker yet.
        var actions: (drain: @Sendable () -> Void, abandon: @Sendable () -> Void)?
    }

    private let state = Mutex(State())

    /// Listens from now on. Until there is a worker, a signal ends the process: nothing is to be drained.
    init() {
        for number in Self.heard {
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global(qos: .userInteractive))
            // The source keeps itself and this object; both are needed until the process ends.
            source.setEventHandler { [self] in
                withExtendedLifetime(source) { arrived(number) }
            }
            source.resume()
        }
    }

    /// There is a worker now.
    func attach(drain: @escaping @Sendable () -> Void, abandon: @escaping @Sendable () -> Void) {
        state.withLock { $0.actions = (drain, abandon) }
    }

    /// The status to exit with: a drain that was allowed to end is a success.
    var status: ExitStatus {
        let received = state.withLock { $0.received }
        guard received.count > 1, let last = received.last else { return .done }
        return last == SIGINT ? .interrupted : .terminated
    }

    /// Stays until the worker has ended: the second signal comes while it drains.
    func run() async throws { try? await gracefulShutdown() }

    private func arrived(_ number: Int32) {
        let (count, actions) = state.withLock { state in
            if number == SIGHUP, !state.received.isEmpty { return (0, state.actions) }
            state.received.append(number)
            return (state.received.count, state.actions)
        }
        if count == 0 { return }
        guard let actions, count <= 2 else { exit(status.rawValue) }
        if count == 1 { return actions.drain() }
        actions.abandon()
        let status = status
        DispatchQueue.global(qos: .userInteractive).asyncAfter(deadline: .now() + Self.patience) {
            exit(status.rawValue)
        }
    }
}
