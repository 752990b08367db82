import Operations
import TerminalText

/// Whether a queue's operations can start, in one or two words.
package enum QueueCondition: Sendable, Equatable {
    case running
    /// Paused; milliseconds until the queue resumes automatically, or nil = until a user resumes it.
    case paused(millisecondsLeft: Int64?)
    /// Operations are ready, but no live worker serves the queue.
    case unserved
    /// The number of operations that wait for a worker that handles their name.
    case unhandled(Int)

    package init(_ snapshot: QueueSnapshot) {
        if snapshot.paused {
            self = .paused(millisecondsLeft: snapshot.pausedUntil.map { $0 - snapshot.time })
        } else if snapshot.counts[.ready] ?? 0 > 0, snapshot.liveWorkers.isEmpty {
            self = .unserved
        } else if snapshot.unhandledCount > 0 {
            self = .unhandled(snapshot.unhandledCount)
        } else {
            self = .running
        }
    }

    package var text: String {
        switch self {
        case .running: "run"
        case .paused(nil): "PAUSED"
        case .paused(let left?): "PAUSED \(DurationText.coarse(.milliseconds(left)))"
        case .unserved: "no worker"
        case .unhandled(let count): "\(QuantityText.count(count)) unhandled"
        }
    }

    package var role: TextRole { self == .running ? .plain : .warning }
}

/// The progress of a running operation.
package enum ProgressText: Sendable, Equatable {
    case unknown
    case running(fraction: Double, message: String)
    /// A cancel was requested so many milliseconds ago.
    case cancelling(milliseconds: Int64)
    /// The lease of its worker has run out.
    case lost

    package init(_ entry: ExecutingSummary) {
        if entry.isLost {
            self = .lost
        } else if let age = entry.cancelAgeMilliseconds {
            self = .cancelling(milliseconds: age)
        } else if let progress = entry.row.progress {
            self = .running(fraction: progress.fraction, message: progress.message)
        } else {
            self = .unknown
        }
    }

    /// The text in the row of an operation whose worker is lost.
    package static let lostText = "LOST, to recover"

    /// `███████░░░  68% pass 2`
    ///
    /// - Parameter bar: the bar's width; 0 = none.
    package func line(ascii: Bool, bar: Int = 10) -> String {
        switch self {
        case .unknown: return "-"
        case .running(let fraction, let message):
            let percent = QuantityText.percent(fraction).padded(toWidth: 4, alignment: .right)
            let drawn = bar > 0 ? QuantityText.bar(fraction, width: bar, ascii: ascii) + " " : ""
            return drawn + percent + (message.isEmpty ? "" : " \(message)")
        case .cancelling(let milliseconds): return "cancelling \(DurationText.short(.milliseconds(milliseconds)))"
        case .lost: return Self.lostText
        }
    }

    package var role: TextRole {
        switch self {
        case .unknown: .dim
        case .running: .executing
        case .cancelling: .cancelled
        case .lost: .dead
        }
    }
}
