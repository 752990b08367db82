import Operations

/// One line of the events screen.
package struct EventLine: Sendable, Equatable {
    /// Milliseconds of server time.
    package var at: Int64
    package var queue: String
    package var content: Content

    package enum Content: Sendable, Equatable {
        case transition(OperationID, OperationState)
        /// Transitions whose ids the message does not contain.
        case more(Int)
        /// A change and, if it changed one operation, the id of that operation.
        case change(QueueChange, OperationID? = nil)
        /// The number of events whose messages were lost.
        case missed(Int64)
    }
}

/// The events collected in one pass.
package struct EventsReading: Sendable {
    package var lines: [EventLine]
    /// Transitions since the last pass, including those without a line.
    package var count: Int
    /// Whether the lines begin with stored events of the queues and replace all earlier lines.
    package var isReplay = false
}

/// Events between two passes: first the stored events of the queues, then live messages.
///
/// Each queue numbers its events, so a gap shows that messages were lost.
struct EventLog: Sendable {
    /// The age of the oldest stored events to show, in milliseconds.
    static let replayedMilliseconds: Int64 = 300_000
    /// The most lines, and the most live messages, between two passes. Older lines are only counted; older messages are
    /// shown as missed.
    private static let most = 500

    private var lines: [EventLine] = []
    private var count = 0
    /// The number of the last known event of each queue.
    private var last: [String: Int64] = [:]
    /// Live messages since the last pass.
    private var early: [(batch: EventBatch, at: Duration)] = []
    private var isReplayed = false
    private var isFirst = true

    /// Whether the stored events still have to be read.
    var needsReplay: Bool { !isReplayed }

    /// Takes a live message.
    ///
    /// - Parameter instant: the time of receipt, by the caller's clock.
    mutating func add(_ batch: EventBatch, at instant: Duration) {
        if early.count == Self.most { early.removeFirst() }
        early.append((batch, instant))
    }

    /// Takes a part of a queue's stored events.
    mutating func replay(_ stored: StoredEvents, of queue: String) {
        for entry in stored.entries { append(entry.batch, at: entry.at) }
        last[queue] = stored.newest
    }

    mutating func endReplay() {
        isReplayed = true
        lines.sort { $0.at < $1.at }
        count = 0
    }

    /// - Parameters:
    ///   - time: the server's time.
    ///   - now: the same instant by the caller's clock.
    mutating func take(time: Int64, now: Duration) -> EventsReading {
        for (batch, instant) in early {
            let at = time - Int64((now - instant) / .milliseconds(1))
            if let known = last[batch.queue] {
                if batch.to <= known { continue }
                let missed = batch.from - known - 1
                if missed > 0 { lines.append(EventLine(at: at, queue: batch.queue, content: .missed(missed))) }
            }
            last[batch.queue] = batch.to
            append(batch, at: at)
        }
        early = []
        defer { (lines, count, isFirst) = ([], 0, false) }
        return EventsReading(lines: lines.suffix(Self.most), count: count, isReplay: isFirst)
    }

    private mutating func append(_ batch: EventBatch, at: Int64) {
        func line(_ content: EventLine.Content) -> EventLine { EventLine(at: at, queue: batch.queue, content: content) }
        if let change = batch.change { lines.append(line(.change(change, batch.subject))) }
        lines += batch.transitions.map { line(.transition($0.id, $0.state)) }
        let transitions = batch.counts.values.reduce(0, +)
        count += transitions
        let unnamed = transitions - batch.transitions.count
        if unnamed > 0 { lines.append(line(.more(unnamed))) }
        if lines.count > Self.most * 2 { lines.removeFirst(lines.count - Self.most) }
    }
}
