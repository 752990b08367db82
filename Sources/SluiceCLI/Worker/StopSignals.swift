import Dispatch
import Foundation
import ServiceLifecycle
import Synchronization

/// SIGINT and SIGTERM of a worker: the first begins the drain, the second gives everything back now, the third ends the process.
final class StopSignals: Service {
    private static let signals = [SIGINT, SIGTERM]
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
        for number in Self.signals {
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
            state.received.append(number)
            return (state.received.count, state.actions)
        }
        guard let actions, count <= 2 else { exit(status.rawValue) }
        if count == 1 { return actions.drain() }
        actions.abandon()
        let status = status
        DispatchQueue.global(qos: .userInteractive).asyncAfter(deadline: .now() + Self.patience) {
            exit(status.rawValue)
        }
    }
}
