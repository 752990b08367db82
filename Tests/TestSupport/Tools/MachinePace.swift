import Foundation
import Synchronization

/// Measures how slow the machine is: once a second, the delay from the due start of an empty process to its end.
public final class MachinePace: Sendable {
    /// The shared measurement. Runs from the first use to the end of the process.
    public static let shared = MachinePace()

    private static let interval: Duration = .seconds(1)
    private static let samplesKept = 900
    private let samples = Mutex<[(end: ContinuousClock.Instant, delay: Duration)]>([])
    private let current = Mutex(ContinuousClock.now)

    private init() {
        let thread = Thread { [self] in measure() }
        thread.stackSize = 256 << 10
        thread.start()
    }

    /// - Parameter time: the time to look back from now.
    /// - Returns: the longest delay within that time, including a measurement that has not ended.
    public func longestDelay(inLast time: Duration) -> Duration {
        let now = ContinuousClock.now
        let past = samples.withLock { $0.filter { $0.end > now - time }.map(\.delay) }
        return max(past.max() ?? .zero, now - current.withLock { $0 })
    }

    private func measure() -> Never {
        var due = ContinuousClock.now
        while true {
            current.withLock { $0 = due }
            _ = try? run("true", [])
            let end = ContinuousClock.now
            samples.withLock { samples in
                samples.append((end, end - due))
                if samples.count > Self.samplesKept { samples.removeFirst() }
            }
            due = max(due + Self.interval, end)
            current.withLock { $0 = due }
            _ = DispatchSemaphore(value: 0).wait(timeout: .now() + (due - end) / .seconds(1))
        }
    }
}
