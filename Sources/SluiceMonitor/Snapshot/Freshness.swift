import Operations
import TerminalText

/// The freshness of the shown data, for the header.
package enum Freshness: Sendable, Equatable {
    /// No answer and no failure yet.
    case connecting
    case live(age: Duration)
    /// No answer for more than three intervals.
    case stale(age: Duration)
    /// The last try failed.
    case disconnected(retryIn: Duration?)

    package var isLive: Bool { if case .live = self { true } else { false } }
}

/// Stores the time of the last answer, and the failure since then.
package struct TruthMeter: Sendable {
    /// The intended time between two reads.
    package var interval: Duration
    private var answeredAt: Duration?
    private var failure: (message: String, retryAt: Duration)?

    package init(interval: Duration) { self.interval = interval }

    package mutating func answered(at instant: Duration) {
        answeredAt = instant
        failure = nil
    }

    package mutating func failed(_ message: String, retryAt: Duration) { failure = (message, retryAt) }

    /// The error of the last try, if it failed.
    package var failureMessage: String? { failure?.message }

    package func freshness(at now: Duration) -> Freshness {
        if let failure { return .disconnected(retryIn: failure.retryAt > now ? failure.retryAt - now : nil) }
        guard let answeredAt else { return .connecting }
        let age = max(.zero, now - answeredAt)
        return age > interval * 3 ? .stale(age: age) : .live(age: age)
    }
}

extension Freshness {
    /// `live 0.3s ago`, `STALE 4s`, `DISCONNECTED, retry in 2s, data from 12:03:11`.
    ///
    /// - Parameters:
    ///   - dataTime: the server time of the shown data, in milliseconds.
    ///   - isShort: for small screens, without the details.
    package func text(dataTime: Int64?, isShort: Bool = false) -> String {
        switch self {
        case .connecting: return "connecting"
        case .live(let age): return "live \(DurationText.tenths(age))" + (isShort ? "" : " ago")
        case .stale(let age): return "STALE \(DurationText.fine(age))"
        case .disconnected(let retryIn):
            guard !isShort else { return "DISCONNECTED" }
            let retry = retryIn.map { "retry in \(DurationText.short($0 + .milliseconds(999)))" } ?? "trying again"
            return "DISCONNECTED, \(retry)" + (dataTime.map { ", data from \(TimeText.clock($0))" } ?? "")
        }
    }

    package var role: TextRole {
        switch self {
        case .connecting: .dim
        case .live: .finished
        case .stale: .warning
        case .disconnected: .dead
        }
    }
}

extension DurationText {
    /// As `short`, with hundredths below a second: `0.25s`, `0.5s`, `12s`.
    static func fine(_ duration: Duration) -> String {
        guard duration > .zero, duration < .seconds(1) else { return short(duration) }
        let hundredths = Int(duration.components.attoseconds / 10_000_000_000_000_000)
        let digits = hundredths % 10 == 0 ? "\(hundredths / 10)" : hundredths < 10 ? "0\(hundredths)" : "\(hundredths)"
        return "0.\(digits)s"
    }

    /// Tenths of a second below ten seconds, then as `short`: `0.3s`, `12s`.
    static func tenths(_ duration: Duration) -> String {
        guard duration < .seconds(10) else { return short(duration) }
        let tenths = max(
            0,
            duration.components.seconds * 10 + duration.components.attoseconds / 100_000_000_000_000_000
        )
        return "\(tenths / 10).\(tenths % 10)s"
    }
}
