import Operations

/// Reads the events of queues: stored events of the past first, then new events as they occur.
///
/// Each event number of a queue occurs once, in a batch or in a range of unkept numbers. New events arrive as messages.
/// If the numbers of a queue show that messages were lost, the feed reads the queue's stream. The buffer for a slow
/// reader is bounded, and an overflow is a gap like any other. A slow reader therefore costs Redis and the workers
/// nothing.
package struct EventFeed: Sendable {
    package enum Item: Sendable {
        case batch(EventBatch, at: Int64)
        /// A range of event numbers without stored events: enqueues, starts and finishes that are past, or whose
        /// messages were lost.
        case unkept(queue: String, ClosedRange<Int64>, at: Int64)
        /// A queue's events before this time are no longer stored, though they were asked for.
        case trimmed(queue: String, before: Int64, at: Int64)
        /// Redis does not answer. Missed events follow when it does.
        case outage(at: Int64)

        /// The server's time in milliseconds.
        package var at: Int64 {
            switch self {
            case .batch(_, let at), .unkept(_, _, let at), .trimmed(_, _, let at), .outage(let at): at
            }
        }
    }

    private let broker: any OperatorBroker
    private let since: Duration?
    private let follows: Bool
    private let named: [String]
    private let filter: EventFilter
    private let now: @Sendable () -> Int64
    private let output: @Sendable (Item) async throws -> Void

    /// Makes a feed.
    ///
    /// - Parameters:
    ///   - since: the age of the oldest event to read; nil = read only new events.
    ///   - follows: whether the feed continues with new events.
    ///   - queues: the queues to read; empty = all queues, including new ones.
    ///   - now: this machine's time, in milliseconds.
    ///   - output: called with each item, in order.
    package init(
        _ broker: any OperatorBroker,
        since: Duration?,
        follows: Bool,
        queues: [String],
        filter: EventFilter,
        now: @escaping @Sendable () -> Int64,
        output: @escaping @Sendable (Item) async throws -> Void
    ) {
        (self.broker, self.since, self.follows) = (broker, since, follows)
        (named, self.filter, self.now, self.output) = (queues, filter, now, output)
    }

    private enum Signal: Sendable {
        case batch(EventBatch)
        /// A second has passed. The queues are the current ones.
        case tick([String])
    }

    /// The largest number of messages that wait for the reader.
    private static let buffered = 10_000
    /// The number of stream entries in one read.
    private static let part = 100
    /// The approximate number of entries of all streams in memory while stored events are read.
    private static let merged = 5_000
    /// The largest number of queues that are compared with their counters in a second.
    private static let comparedAtOnce = 20
    private static let look: Duration = .seconds(1)

    /// Runs until the process is ended; without `follows`, until the stored events are printed.
    package func run() async throws {
        var reader = Reader(feed: self)
        try await reader.begin(with: try await queues())
        guard follows else { return }
        let (signals, inbox) = AsyncThrowingStream.makeStream(
            of: Signal.self,
            bufferingPolicy: .bufferingNewest(Self.buffered)
        )
        let listening = Task {
            do { try await listen(inbox) } catch { inbox.finish(throwing: error) }
        }
        defer { listening.cancel() }
        for try await signal in signals {
            switch signal {
            case .batch(let batch): try await reader.take(batch)
            case .tick(let queues): try await reader.compare(queues)
            }
        }
    }

    /// Listens to all queues. Redis announces no new queues, so the list is read repeatedly.
    private func listen(_ inbox: AsyncThrowingStream<Signal, any Error>.Continuation) async throws {
        try await withThrowingDiscardingTaskGroup { group in
            var known: Set<String> = []
            // A refused subscription cancels the group.
            while !group.isCancelled {
                // An outage of Redis does not end the command.
                let queues = (try? await queues()) ?? Array(known)
                let new = Set(queues).subtracting(known)
                known.formUnion(new)
                if !new.isEmpty {
                    let events = broker.events(queues: new.sorted())
                    group.addTask { for try await batch in events { inbox.yield(.batch(batch)) } }
                }
                inbox.yield(.tick(queues))
                try await Task.sleep(for: Self.look)
            }
        }
    }

    private func queues() async throws -> [String] {
        filter.queues(of: named.isEmpty ? try await broker.queues() : named)
    }
}

extension EventFeed {
    /// Tracks the position in each queue.
    private struct Reader {
        let feed: EventFeed
        private var places: [String: Place] = [:]
        private var isAway = false
        /// The number of milliseconds by which the server's clock is ahead of this machine's.
        private var clockOffset: Int64 = 0
        private var compared = 0

        init(feed: EventFeed) { self.feed = feed }

        private struct Place {
            /// The last stream entry that was read.
            var cursor: String?
            /// The start of the first read, in milliseconds of server time. Applies while `cursor` is nil.
            var begin: Int64?
            /// The next expected event number; nil = the first event that is read sets it.
            var next: Int64?
            /// The queue's last event number at the previous comparison.
            var newest: Int64 = 0
        }

        /// Prints the stored events of all queues in the order of their times. Without `since`, only reads the queues'
        /// current positions.
        mutating func begin(with queues: [String]) async throws {
            let limit = max(10, min(EventFeed.part, EventFeed.merged / max(1, queues.count)))
            var merge = EventMerge()
            for queue in queues {
                places[queue] = Place()
                let page = try await page(of: queue, limit: limit, isFirst: true)
                merge.add(page.items, of: queue, isLast: page.isLast)
            }
            while let (item, queue, isUsedUp) = merge.next() {
                try await feed.output(item)
                guard isUsedUp else { continue }
                let page = try await page(of: queue, limit: limit, isFirst: false)
                merge.add(page.items, of: queue, isLast: page.isLast)
            }
        }

        private mutating func page(
            of queue: String,
            limit: Int,
            isFirst: Bool
        ) async throws -> (items: [Item], isLast: Bool) {
            var place = places[queue] ?? Place()
            defer { places[queue] = place }
            return try await page(queue, &place, limit: limit, isFirst: isFirst, before: nil)
        }

        /// Handles the message of a batch.
        mutating func take(_ batch: EventBatch) async throws {
            // A queue that appeared later is read from its first event on.
            var place = places[batch.queue] ?? Place(next: 1)
            defer { places[batch.queue] = place }
            if let next = place.next, batch.from < next { return }
            if let next = place.next, batch.from > next {
                // If the stream cannot be read now, `compare` later reads this batch and the events before it.
                let isRead = try await attempt { reader in
                    try await reader.read(batch.queue, &place, before: batch.from)
                }
                guard isRead else { return }
                try await finish(batch.queue, &place, through: batch.from - 1, at: time)
            }
            try await feed.output(.batch(batch, at: time))
            place.next = batch.to + 1
        }

        /// Reads events whose messages were lost. Each call compares some of the queues, in rotation.
        mutating func compare(_ queues: [String]) async throws {
            for index in 0..<min(queues.count, EventFeed.comparedAtOnce) {
                let queue = queues[(compared + index) % queues.count]
                var place = places[queue] ?? Place(next: 1)
                let before = place.newest
                // A message may be on its way, so only events that existed at the previous comparison count as lost.
                let isRead = try await attempt { reader in
                    place.newest = try await reader.part(queue, &place, limit: 1).newest
                    guard let next = place.next, before >= next else { return }
                    try await reader.read(queue, &place, before: before + 1)
                }
                if isRead, let next = place.next, before >= next {
                    try await finish(queue, &place, through: before, at: time)
                }
                places[queue] = place
            }
            compared += EventFeed.comparedAtOnce
        }

        private var time: Int64 { feed.now() + clockOffset }

        /// Prints the stream entries after the position, up to the entry that begins at `before`.
        private mutating func read(_ queue: String, _ place: inout Place, before: Int64?) async throws {
            while true {
                let page = try await page(queue, &place, limit: EventFeed.part, isFirst: false, before: before)
                for item in page.items { try await feed.output(item) }
                if page.isLast { return }
            }
        }

        /// Reads the next entries of a stream. The result includes the gaps before and between entries, and whether
        /// these entries are the last ones.
        private mutating func page(
            _ queue: String,
            _ place: inout Place,
            limit: Int,
            isFirst: Bool,
            before: Int64?
        ) async throws -> (items: [Item], isLast: Bool) {
            let part = try await part(queue, &place, limit: limit)
            var items = isFirst ? trimmed(queue, part) : []
            for entry in part.entries {
                if let before, entry.batch.from >= before { return (items, true) }
                place.cursor = entry.cursor
                if let next = place.next, entry.batch.from < next { continue }
                items += gap(queue, &place, through: entry.batch.from - 1, at: entry.at)
                items.append(.batch(entry.batch, at: entry.at))
                place.next = entry.batch.to + 1
            }
            place.cursor = part.cursor ?? place.cursor
            guard part.cursor == nil || part.entries.count < limit else { return (items, false) }
            if before == nil {
                items += gap(queue, &place, through: part.newest, at: part.time)
                place.next = part.newest + 1
            }
            return (items, true)
        }

        private mutating func part(_ queue: String, _ place: inout Place, limit: Int) async throws -> StoredEvents {
            let ago = feed.since?.wholeMilliseconds ?? 0
            let part = try await feed.broker.storedEvents(
                queue: queue,
                after: place.cursor,
                agoMilliseconds: place.begin.map { time - $0 } ?? ago,
                limit: limit
            )
            if place.begin == nil { place.begin = part.time - ago }
            clockOffset = part.time - feed.now()
            return part
        }

        private func trimmed(_ queue: String, _ part: StoredEvents) -> [Item] {
            guard let since = feed.since, let before = part.trimmedBefore, before > part.time - since.wholeMilliseconds
            else { return [] }
            return [.trimmed(queue: queue, before: before, at: before)]
        }

        /// Prints the gap of unknown numbers up to `last`.
        private mutating func finish(_ queue: String, _ place: inout Place, through last: Int64, at time: Int64)
            async throws
        {
            for item in gap(queue, &place, through: last, at: time) { try await feed.output(item) }
        }

        /// The gap of unknown numbers up to `last`; empty if all numbers are known.
        private func gap(_ queue: String, _ place: inout Place, through last: Int64, at time: Int64) -> [Item] {
            defer { place.next = max(place.next ?? 0, last + 1) }
            guard let first = place.next, first <= last else { return [] }
            return [.unkept(queue: queue, first...last, at: time)]
        }

        /// Runs a body that needs Redis. After an outage, missed events are read later.
        ///
        /// - Returns: whether Redis answered.
        private mutating func attempt(_ body: (inout Reader) async throws -> Void) async throws -> Bool {
            do {
                try await body(&self)
                isAway = false
                return true
            } catch let error as OperationsError where error.code == .unavailable {
                if !isAway { try await feed.output(.outage(at: time)) }
                isAway = true
                return false
            }
        }
    }
}
