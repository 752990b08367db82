import Dispatch
import Foundation
import Synchronization

/// Handles Ctrl-C and SIGTERM while a command changes many operations. After the first signal, the current call ends
/// and the command reports its changes. A second signal ends the process at once.
final class Interruption {
    private static let signals = [SIGINT: ExitStatus.interrupted, SIGTERM: ExitStatus.terminated]

    /// The first signal; nil = none.
    final class Received: Sendable {
        private let state = Mutex<(first: ExitStatus?, action: (@Sendable () -> Void)?)>((nil, nil))
        var status: ExitStatus? { state.withLock { $0.first } }

        /// Calls the closure when a signal arrives, or at once if one has arrived already.
        func whenReceived(_ action: @escaping @Sendable () -> Void) {
            let isReceived = state.withLock { state in
                state.action = action
                return state.first != nil
            }
            if isReceived { action() }
        }

        fileprivate func note(_ status: ExitStatus) {
            let (isFirst, action) = state.withLock { state in
                defer { state.first = state.first ?? status }
                return (state.first == nil, state.action)
            }
            if !isFirst { exit(status.rawValue) }
            action?()
        }
    }

    let received = Received()
    private var sources:
        [(number: Int32, former: (@convention(c) (Int32) -> Void)?, source: any DispatchSourceSignal)] = []

    /// Handles signals until this object is released. Signals that the parent process has set to be ignored stay
    /// ignored.
    init() {
        for (number, status) in Self.signals where !EndingSignals.ignoredAtStart.contains(number) {
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global(qos: .userInteractive))
            source.setEventHandler { [received] in received.note(status) }
            // SIG_IGN must be set before the source installs its handler, as it does on Linux. A later SIG_IGN would
            // drop all signals.
            sources.append((number, signal(number, SIG_IGN), source))
            source.resume()
        }
    }

    deinit {
        for (number, former, source) in sources {
            source.cancel()
            signal(number, former)
        }
    }
}
