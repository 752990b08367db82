import Operations
import Sluice
import TerminalText

/// Reads the events of queues: from the past what the streams keep, then what comes. Each number of a queue comes once, in a batch or in a
/// range of what is not kept.
///
/// New events come as messages. Where the numbers of a queue show that messages were lost, its stream is read. What waits for a slow reader
/// is bounded; what does not fit is a gap like any other. So a slow reader costs neither Redis nor the workers anything.
struct EventFeed: Sendable {
    enum Item: Sendable {
        case batch(EventBatch, at: Int64)
        /// Numbers of events of which nothing is kept: enqueues, starts and finishes whose messages were lost, or that are past.
        case unkept(queue: String, ClosedRange<Int64>, at: Int64)

        /// Milliseconds of server time.
        var at: Int64 {
            switch self {
            case .batch(_, let at), .unkept(_, _, let at): at
            }
        }
    }

    let client: SluiceClient
    let invocation: Invocation
    /// nil = only what comes.
    let since: Duration?
    /// Whether it goes on with what comes.
    let follows: Bool
    /// Empty = all, also new ones.
    let named: [String]
    let filter: EventFilter
    let output: @Sendable (Item) async throws -> Void

    private enum Signal: Sendable {
        case batch(EventBatch)
        /// A second has passed; these are the queues.
        case tick([String])
    }

    /// Messages that wait for the reader, at most.
    private static let buffered = 10_000
    /// Entries of a stream that are read at once.
    private static let part = 100
    /// Entries of all streams that wait for their turn while what is kept is read, about.
    private static let merged = 5_000
    /// Queues that are compared with their counters in a second, at most.
    private static let comparedAtOnce = 20
    private static let look: Duration = .seconds(1)

    /// Goes on until the process is ended, or to the end of what is kept.
    func run() async throws {
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

    /// Listens to all queues. New ones are not announced, so the list is read again and again.
    private func listen(_ inbox: AsyncThrowingStream<Signal, any Error>.Continuation) async throws {
        try await withThrowingDiscardingTaskGroup { group in
            var known: Set<String> = []
            // A refused subscription cancels the group.
            while !group.isCancelled {
                // An outage of Redis does not end a command that listens.
                let queues = (try? await queues()) ?? Array(known)
                let new = Set(queues).subtracting(known)
                known.formUnion(new)
                if !new.isEmpty {
                    let events = client.broker.events(queues: new.sorted())
                    group.addTask { for try await batch in events { inbox.yield(.batch(batch)) } }
                }
                inbox.yield(.tick(queues))
                try await Task.sleep(for: Self.look)
            }
        }
    }

    private func queues() async throws -> [String] {
        filter.queues(of: named.isEmpty ? try await client.queues() : named)
    }
}

extension EventFeed {
    /// How far each queue was read.
    private struct Reader {
        let feed: EventFeed
        private var places: [String: Place] = [:]
        private var isAway = false
        /// What the server's clock is ahead of this one, in milliseconds.
        private var clockOffset: Int64 = 0
        private var compared = 0

        init(feed: EventFeed) { self.feed = feed }

        private struct Place {
            /// The last entry of the stream that was read.
            var cursor: String?
            /// Where reading begins while there is no cursor; milliseconds of server time.
            var begin: Int64?
            /// The number that comes next; nil = with the first that is read.
            var next: Int64?
            /// The queue's last number when it was compared before.
            var newest: Int64 = 0
        }

        /// Prints what is kept of all queues in the order of its times, or reads where the queues are.
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

        /// A message came.
        mutating func take(_ batch: EventBatch) async throws {
            // A queue that was not there at the beginning is read from its first event on.
            var place = places[batch.queue] ?? Place(next: 1)
            defer { places[batch.queue] = place }
            if let next = place.next, batch.from < next { return }
            if let next = place.next, batch.from > next {
                // Where the stream cannot be read now, `compare` comes back to this batch and what is before it.
                let isRead = try await attempt { reader in
                    try await reader.read(batch.queue, &place, before: batch.from)
                }
                guard isRead else { return }
                try await finish(batch.queue, &place, through: batch.from - 1, at: time)
            }
            try await feed.output(.batch(batch, at: time))
            place.next = batch.to + 1
        }

        /// Looks for numbers of which no message came: some queues at a time, all in turn.
        mutating func compare(_ queues: [String]) async throws {
            for index in 0..<min(queues.count, EventFeed.comparedAtOnce) {
                let queue = queues[(compared + index) % queues.count]
                var place = places[queue] ?? Place(next: 1)
                let before = place.newest
                // A message may be on its way: only what was there a look ago is lost.
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

        private var time: Int64 { feed.invocation.now + clockOffset }

        /// Prints the entries of a stream behind the place, up to those that begin at `before`.
        private mutating func read(_ queue: String, _ place: inout Place, before: Int64?) async throws {
            while true {
                let page = try await page(queue, &place, limit: EventFeed.part, isFirst: false, before: before)
                for item in page.items { try await feed.output(item) }
                if page.isLast { return }
            }
        }

        /// The next entries of a stream, with what is not kept before and between them, and whether these are the last ones.
        private mutating func page(
            _ queue: String,
            _ place: inout Place,
            limit: Int,
            isFirst: Bool,
            before: Int64?
        ) async throws -> (items: [Item], isLast: Bool) {
            let part = try await part(queue, &place, limit: limit)
            if isFirst { warn(queue, part) }
            var items: [Item] = []
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
            let part = try await feed.client.broker.storedEvents(
                queue: queue,
                after: place.cursor,
                agoMilliseconds: place.begin.map { time - $0 } ?? ago,
                limit: limit
            )
            if place.begin == nil { place.begin = part.time - ago }
            clockOffset = part.time - feed.invocation.now
            return part
        }

        private func warn(_ queue: String, _ part: StoredEvents) {
            guard let since = feed.since, let before = part.trimmedBefore, before > part.time - since.wholeMilliseconds
            else { return }
            feed.invocation.console.warn(
                "queue \(queue): events before \(TimeText.rfc3339(before)) are not kept any more"
            )
        }

        /// Prints that nothing is known of the numbers up to `last`.
        private mutating func finish(_ queue: String, _ place: inout Place, through last: Int64, at time: Int64)
            async throws
        {
            for item in gap(queue, &place, through: last, at: time) { try await feed.output(item) }
        }

        /// The numbers up to `last` of which nothing is known; empty = there are none.
        private func gap(_ queue: String, _ place: inout Place, through last: Int64, at time: Int64) -> [Item] {
            defer { place.next = max(place.next ?? 0, last + 1) }
            guard let first = place.next, first <= last else { return [] }
            return [.unkept(queue: queue, first...last, at: time)]
        }

        /// Redis may be away for a while. What was missed meanwhile is read later.
        ///
        /// - Returns: whether Redis answered.
        private mutating func attempt(_ body: (inout Reader) async throws -> Void) async throws -> Bool {
            do {
                try await body(&self)
                isAway = false
                return true
            } catch let error as OperationsError where error.code == .unavailable {
                if !isAway { feed.invocation.console.note("Redis does not answer; the events go on when it does") }
                isAway = true
                return false
            }
        }
    }
}
