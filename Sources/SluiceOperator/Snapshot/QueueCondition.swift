import Operations
import TerminalText

/// Whether a queue's operations can start, in one or two words.
package enum QueueCondition: Sendable, Equatable {
    case running
    /// Paused; milliseconds until the queue resumes automatically, or nil = until a user resumes it.
    case paused(millisecondsLeft: Int64?)
    /// Operations are ready, will be retried, or wait for recovery, but no live worker serves the queue.
    case unserved
    /// Such operations exist, but all live workers are quiet or draining.
    case quiet
    /// The number of operations that wait for a worker that handles their name.
    case unhandled(Int)

    /// The first reason why operations do not start.
    package init(_ snapshot: QueueSnapshot) { self = Self.all(snapshot).first ?? .running }

    /// All reasons why operations of a queue do not start; empty = nothing prevents it.
    package static func all(_ snapshot: QueueSnapshot) -> [QueueCondition] {
        var found: [QueueCondition] = []
        let live = snapshot.liveWorkers
        if snapshot.paused { found.append(.paused(millisecondsLeft: snapshot.pausedUntil.map { $0 - snapshot.time })) }
        let open = snapshot.waiting + snapshot.lostOperations
        if open > 0, !snapshot.hasTaker { found.append(live.isEmpty ? .unserved : .quiet) }
        if snapshot.unhandledCount > 0 { found.append(.unhandled(snapshot.unhandledCount)) }
        return found
    }

    package var text: String {
        switch self {
        case .running: "run"
        case .paused(nil): "PAUSED"
        case .paused(let left?): "PAUSED \(DurationText.coarse(.milliseconds(left)))"
        case .unserved: "no worker"
        case .quiet: "workers quiet"
        case .unhandled(let count): "\(QuantityText.count(count)) unhandled"
        }
    }

    /// One sentence without a capital letter and a full stop, not escaped for a terminal.
    package func sentence(_ snapshot: QueueSnapshot) -> String {
        switch self {
        case .running: "runs"
        case .paused: PauseText.of(snapshot)
        case .unserved: Self.unserved(snapshot)
        case .quiet:
            snapshot.liveWorkers.count == 1
                ? "its only live worker is quiet or draining, so nothing starts"
                : "all of its \(snapshot.liveWorkers.count) live workers are quiet or draining, so nothing starts"
        case .unhandled: snapshot.unhandledNotes.map(\.text).joined(separator: "; ")
        }
    }

    private static func unserved(_ snapshot: QueueSnapshot) -> String {
        var parts: [String] = []
        if let ready = snapshot.counts[.ready], ready > 0 { parts.append(QuantityText.operationsAre(ready) + " ready") }
        if let retrying = snapshot.counts[.retrying], retrying > 0 {
            parts.append(QuantityText.operationsAre(retrying) + " retrying")
        }
        let lost = snapshot.lostOperations
        if lost > 0 {
            parts.append(
                "\(QuantityText.operations(lost)) of lost workers \(lost == 1 ? "waits" : "wait") for recovery"
            )
        }
        return "no live worker serves it: " + parts.joined(separator: ", ")
    }

    /// Whether operations of the queue cannot start at all.
    package var stopsQueue: Bool {
        switch self {
        case .paused, .unserved, .quiet: true
        case .running, .unhandled: false
        }
    }

    package var role: TextRole { self == .running ? .plain : .warning }
}

extension QueueSnapshot {
    /// The number of operations that lost workers have claimed and that no worker has recovered yet.
    package var lostOperations: Int {
        workers.filter { leaseMilliseconds(of: $0) <= 0 }.reduce(0) { $0 + $1.inFlight }
    }

    /// Whether a live worker starts new operations of the queue; true if it may be one that was not read.
    package var hasTaker: Bool {
        mayHaveMoreWorkers || liveWorkers.contains { WorkerInfo($0.info)?.takesWork ?? true }
    }

    /// The number of ready operations and of failed ones that will be retried.
    package var waiting: Int { (counts[.ready] ?? 0) + (counts[.retrying] ?? 0) }
}

/// A pause as text.
package enum PauseText {
    /// `paused by ann@host, 5m ago: deploy; resumes in 10m`
    package static func of(_ queue: QueueSnapshot) -> String {
        var text = "paused"
        if let trace = queue.pause {
            text += " by \(trace.by), \(TimeText.relative(trace.at, now: queue.time))"
            if !trace.reason.isEmpty { text += ": \(trace.reason)" }
        }
        if let until = queue.pausedUntil { text += "; resumes \(TimeText.relative(until, now: queue.time))" }
        return text
    }
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
