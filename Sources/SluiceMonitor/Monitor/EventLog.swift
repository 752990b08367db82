import Operations

/// One line of the events' screen.
package struct EventLine: Sendable, Equatable {
    /// Milliseconds of server time.
    package var at: Int64
    package var queue: String
    package var content: Content

    package enum Content: Sendable, Equatable {
        case transition(OperationID, OperationState)
        /// Transitions whose ids the message does not have.
        case more(Int)
        /// A change and, of a change of one, the operation.
        case change(QueueChange, OperationID? = nil)
        /// Numbers of which nothing is known: messages were lost.
        case missed(Int64)
    }
}

/// What a pass has collected of events.
package struct EventsReading: Sendable {
    package var lines: [EventLine]
    /// Transitions since the last pass, also those that have no line.
    package var count: Int
    /// Whether the lines begin with what the queues have kept, and take the place of earlier ones.
    package var isReplay = false
}

/// Events between two passes: replayed once from what the queues keep, then live. Each queue's numbers show whether messages were lost.
struct EventLog: Sendable {
    /// How far back the replay begins.
    static let replayedMilliseconds: Int64 = 300_000
    /// The most lines between two passes; older ones are only counted.
    private static let most = 500

    private var lines: [EventLine] = []
    private var count = 0
    /// The number of the last known event of each queue.
    private var last: [String: Int64] = [:]
    /// Live messages before the replay.
    private var early: [(batch: EventBatch, at: Duration)] = []
    private var isReplayed = false
    private var isFirst = true

    /// Whether the kept events were read.
    var needsReplay: Bool { !isReplayed }

    /// Takes a live message.
    ///
    /// - Parameter instant: when it came, by the caller's clock.
    mutating func add(_ batch: EventBatch, at instant: Duration) {
        if early.count == Self.most { early.removeFirst() }
        early.append((batch, instant))
    }

    /// Takes a part of what a queue has kept.
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
