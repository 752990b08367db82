import Dispatch
import Foundation
import ServiceLifecycle
import Synchronization

/// Handles the signals that end a worker. The first signal starts the drain, the second gives everything back, and the
/// third ends the process.
///
/// The kernel and the shell each send SIGHUP when a terminal closes, so SIGHUP counts only as the first signal.
final class StopSignals: Service {
    /// All signals that would end the process, except signals that the parent process has set to be ignored. SIGINT and
    /// SIGTERM are always handled, because a shell script sets SIGINT to be ignored in background programs.
    static let heard = (EndingSignals.all + EndingSignals.unspecific).filter {
        [SIGINT, SIGTERM].contains($0) || !EndingSignals.ignoredAtStart.contains($0)
    }
    /// The time within which the process ends after the second signal, even if a task hangs.
    private static let patience: DispatchTimeInterval = .milliseconds(1_900)

    private struct State {
        var received: [Int32] = []
        /// The actions of the first and the second signal; nil before the worker exists.
        var actions: (drain: @Sendable () -> Void, stopNow: @Sendable () -> Void)?
    }

    private let state = Mutex(State())

    /// Handles signals from now on. Before the worker exists, a signal ends the process, since nothing is to be
    /// drained.
    init() {
        for number in Self.heard {
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global(qos: .userInteractive))
            // The source keeps itself and this object alive until the process ends.
            source.setEventHandler { [self] in
                withExtendedLifetime(source) { arrived(number) }
            }
            source.resume()
        }
    }

    /// Sets the actions of a worker.
    func attach(drain: @escaping @Sendable () -> Void, stopNow: @escaping @Sendable () -> Void) {
        state.withLock { $0.actions = (drain, stopNow) }
    }

    /// The exit status. A completed drain is a success.
    var status: ExitStatus {
        let received = state.withLock { $0.received }
        guard received.count > 1, let last = received.last else { return .done }
        return last == SIGINT ? .interrupted : .terminated
    }

    /// Runs until the worker has ended, because a second signal may arrive during the drain.
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
        actions.stopNow()
        let status = status
        DispatchQueue.global(qos: .userInteractive).asyncAfter(deadline: .now() + Self.patience) {
            exit(status.rawValue)
        }
    }
}
