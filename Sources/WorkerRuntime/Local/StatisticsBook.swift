import Operations
import Synchronization

/// The statistics of this worker by queue and operation name, until Redis answers the heartbeat that sent them.
final class StatisticsBook: Sendable {
    typealias Instant = ContinuousClock.Instant

    private struct Page {
        /// Entries in the order of their first use. The name nil stands for names beyond the limit, and for unreadable
        /// operations.
        private var entries: [StatisticsDelta.Entry] = []
        private var places: [String?: Int] = [:]
        /// The index of the last used entry: most operations have the same name as the one before.
        private var last: Int?
        /// Sent and not answered yet. The same statistics are sent again, because they may have arrived.
        var sent: StatisticsDelta?
        private var number: Int64 = 0
        /// Server time at `base`, in milliseconds.
        var serverTime: Int64?

        mutating func change(_ name: String?, _ body: (inout Statistics) -> Void) {
            let place = if let last, entries[last].name == name { last } else { place(of: name) }
            last = place
            body(&entries[place].statistics)
        }

        private mutating func place(of name: String?) -> Int {
            if let known = places[name] { return known }
            if name != nil, places.count >= SluiceDefaults.statisticsNames { return place(of: nil) }
            entries.append(StatisticsDelta.Entry(name: name, statistics: Statistics()))
            places[name] = entries.count - 1
            return entries.count - 1
        }

        mutating func send() -> StatisticsDelta? {
            if sent == nil { sent = takeRest() }
            return sent
        }

        mutating func takeRest() -> StatisticsDelta? {
            guard !entries.isEmpty else { return nil }
            number += 1
            defer { (entries, places, last) = ([], [:], nil) }
            return StatisticsDelta(number: number, entries: entries.sorted { ($0.name ?? "") < ($1.name ?? "") })
        }
    }

    /// Only answers within this time set the offset to server time, unless it is unknown.
    private static let promptAnswer: Duration = .milliseconds(100)
    private let base = Instant.now
    private let pages = Mutex<[Int: Page]>([:])

    /// Counts a body that begins, and how long its operation waited. The wait is measured by the server's clock,
    /// because `readyAt` is a time of the server.
    ///
    /// - Returns: how long the operation waited; nil while no time of the server is known.
    @discardableResult
    func started(_ queue: Int, _ name: String, readyAt: Int64, at instant: Instant) -> Duration? {
        let elapsed = (instant - base).microseconds
        let wait = pages.withLock { pages in
            let wait = pages[queue]?.serverTime.map { ($0 - readyAt) * 1000 + elapsed }
            pages[queue, default: Page()].change(name) { statistics in
                statistics.started += 1
                if let wait { statistics.wait.add(microseconds: wait) }
            }
            return wait
        }
        return wait.map { .microseconds(max(0, $0)) }
    }

    /// Counts an operation that has ended here.
    ///
    /// - Parameter run: the operation's name and when its body began; nil = the body has not begun.
    func ended(_ queue: Int, _ run: (name: String, startedAt: Instant)?, _ settlement: Settlement) {
        // An operation without a run counts only if it is dead: such an operation cannot be read.
        guard run != nil || settlement.isDead else { return }
        if settlement.usesNoAttempt { return }
        let duration = run.map { (Instant.now - $0.startedAt).microseconds }
        pages.withLock { pages in
            pages[queue, default: Page()].change(run?.name) { statistics in
                statistics.count(settlement)
                if let duration { statistics.run.add(microseconds: duration) }
            }
        }
    }

    // MARK: Heartbeats

    /// Returns the statistics for the next heartbeat of a queue.
    func send(_ queue: Int) -> StatisticsDelta? {
        pages.withLock { $0[queue]?.send() }
    }

    /// Notes that a heartbeat was answered.
    func answered(_ queue: Int, time: Int64, sentAt: Instant) {
        let now = Instant.now
        let middle = (sentAt + (now - sentAt) / 2 - base).microseconds / 1000
        pages.withLock { pages in
            pages[queue, default: Page()].sent = nil
            guard now - sentAt < Self.promptAnswer || pages[queue]?.serverTime == nil else { return }
            pages[queue]?.serverTime = time - middle
        }
    }

    /// Takes all statistics that no answered heartbeat has sent. No heartbeat follows.
    func takeAll(_ queue: Int) -> [StatisticsDelta] {
        pages.withLock { pages in
            defer { pages[queue]?.sent = nil }
            return [pages[queue]?.sent, pages[queue]?.takeRest()].compactMap { $0 }
        }
    }
}

extension Statistics {
    /// Counts the end of an attempt. A run that uses no attempt is not counted.
    fileprivate mutating func count(_ settlement: Settlement) {
        switch settlement {
        case .finished: finished += 1
        case .failed(.dead, _): failed += 1
        case .failed(.retry, _): retried += 1
        case .failed(.cancelled, _), .failed(.cancelledByStanding, _): cancelled += 1
        case .failed(.snoozed, _), .failed(.yielded, _), .returned: break
        }
    }
}

extension Settlement {
    fileprivate var isDead: Bool { if case .failed(.dead, _) = self { true } else { false } }
}

extension Duration {
    fileprivate var microseconds: Int64 {
        components.seconds * 1_000_000 + components.attoseconds / 1_000_000_000_000
    }
}
