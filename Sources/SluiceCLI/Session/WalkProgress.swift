import Operations
import SluiceMonitor
import SluiceOperator
import Synchronization
import TerminalText

/// The progress line of a walk over many operations: matches, examined operations, and remaining time.
final class WalkProgress: Sendable {
    private let console: Console
    private let begun = ContinuousClock.now
    private let rate = Mutex(EndRate())

    init(_ console: Console) { self.console = console }

    /// `42 match; scanned 100,000 of 2,314,551 · ETA 12s`
    func show(_ result: ChangeWalk.Result, of walk: ChangeWalk) {
        let left = rate.withLock { rate in
            rate.add(ended: result.scanned, at: .now - begun)
            return rate.time(for: max(0, walk.total - result.scanned))
        }
        let eta = left.map { (console.errors.usesASCII ? " - " : " · ") + "ETA " + DurationText.short($0) } ?? ""
        console.showStatus("\(QuantityText.grouped(result.found)) match; \(walk.coverage(of: result).text)" + eta)
    }
}
