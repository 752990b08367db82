import Dispatch
import Foundation
import Synchronization

/// Ctrl-C and SIGTERM while a command changes many operations: the call that is under way ends, and the command says what was done. A
/// second signal ends the process at once.
final class Interruption {
    private static let signals = [SIGINT: ExitStatus.interrupted, SIGTERM: ExitStatus.terminated]

    /// What came first; nil = nothing.
    final class Received: Sendable {
        private let state = Mutex<(first: ExitStatus?, action: (@Sendable () -> Void)?)>((nil, nil))
        var status: ExitStatus? { state.withLock { $0.first } }

        /// Calls this once something came, at once if it came before.
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

    /// Listens until this is dropped. What the parent has the program ignore stays ignored.
    init() {
        for (number, status) in Self.signals where !EndingSignals.ignoredAtStart.contains(number) {
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global(qos: .userInteractive))
            source.setEventHandler { [received] in received.note(status) }
            // Before the source, which on Linux installs a handler of its own: SIG_IGN after it would drop every signal.
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
