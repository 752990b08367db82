import Dispatch
import Foundation
import ServiceLifecycle
import Synchronization

/// SIGINT and SIGTERM of a worker: the first begins the drain, the second gives everything back now, the third ends the process.
final class StopSignals: Service {
    private static let signals = [SIGINT, SIGTERM]
    /// A worker that was told twice is gone after this time, whatever hangs.
    private static let patience: DispatchTimeInterval = .milliseconds(1_900)

    private let received = Mutex<[Int32]>([])
    private let onFirst: @Sendable () -> Void
    private let onSecond: @Sendable () -> Void

    init(onFirst: @escaping @Sendable () -> Void, onSecond: @escaping @Sendable () -> Void) {
        self.onFirst = onFirst
        self.onSecond = onSecond
    }

    /// The status to exit with: a drain that was allowed to end is a success.
    var status: ExitStatus {
        received.withLock { received in
            guard received.count > 1, let last = received.last else { return .done }
            return last == SIGINT ? .interrupted : .terminated
        }
    }

    /// Listens until the worker has ended: the second signal comes while it drains.
    func run() async throws {
        let sources = Self.signals.map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global(qos: .userInteractive))
            source.setEventHandler { [self] in arrived(number) }
            source.resume()
            return source
        }
        try? await gracefulShutdown()
        sources.forEach { $0.cancel() }
    }

    private func arrived(_ number: Int32) {
        let count = received.withLock { received in
            received.append(number)
            return received.count
        }
        switch count {
        case 1: onFirst()
        case 2:
            onSecond()
            let status = status
            DispatchQueue.global(qos: .userInteractive).asyncAfter(deadline: .now() + Self.patience) {
                exit(status.rawValue)
            }
        default: exit(status.rawValue)
        }
    }
}
