import Operations
import Selectors

/// Finds the operations of a query that existed when the walk began, in chunks, even while operations change their
/// states.
///
/// Sequence numbers show which operations existed. A pass walks the places of a queue in the order of an operation's
/// life, so an operation that moves forward is found later in the same pass. An operation that moves back, or out of a
/// page, is found in the next pass.
///
/// The walk ends after a pass that finds nothing new while nothing moved. In a busy queue, it ends after three such
/// passes in a row.
package struct ChangeWalk: Sendable {
    private static let quietPasses = 3
    /// The order in which operations go through the states.
    private static let order: [OperationState] = [
        .scheduled, .blocked, .retrying, .ready, .executing, .finished, .dead, .cancelled, .expired,
    ]

    package let broker: any MonitorBroker
    package let query: OperationQuery
    /// The keys that read arguments, and the redaction.
    package let view: PayloadView
    /// Whether only operations with a record are found. A waiting untracked operation has none and cannot be addressed.
    package let needsRecord: Bool
    /// The number of operations in the places of the query when the walk began.
    package let total: Int
    /// Sentences about queues of the query that do not exist.
    package let unknownQueues: [String]
    /// Called after each page with what was found so far; true ends the walk.
    private let stop: @Sendable (Result) -> Bool
    /// The queues of the query, with the highest sequence number of each when the walk began.
    private var queues: [(name: String, sequence: Int64)]
    /// Leaves out operations that match.
    private var isLeftOut: @Sendable (OperationDetail) -> Bool = { _ in false }
    /// The server's time when the walk began.
    private let now: Int64

    package struct Result: Sendable {
        package var found = 0
        package var scanned = 0
        /// The number of operations that could not be compared, because their arguments are encrypted and no key is
        /// set.
        package var unread = 0
        /// The number of found operations in states that refuse the change; only counted by a preview.
        package var refused = 0
        /// The number of found operations in each state; only counted by a preview.
        package var states: [OperationState: Int] = [:]
        /// The number of found operations of each queue for which the change is possible; only counted by a preview.
        package var queues: [String: Int] = [:]
        package var isStopped = false

        /// Notes the number of operations examined in a queue: the found ones, and others that do not match.
        fileprivate mutating func examined(_ others: Int, since before: Result) {
            scanned = max(scanned, before.scanned + found - before.found + others)
        }
    }

    /// Begins a walk: only operations that exist now are found.
    ///
    /// - Throws: `AbsentQueues` if the query includes queues of a cluster node that does not answer. A change that
    ///   leaves out some queues would look like a success.
    package init(
        broker: any MonitorBroker,
        query: OperationQuery,
        view: PayloadView,
        needsRecord: Bool
    ) async throws {
        self.broker = broker
        self.query = query
        self.view = view
        self.needsRecord = needsRecord
        stop = { _ in false }
        let snapshot = try await broker.namespaceSnapshot(executingRows: 0) { .zero }
        if let node = snapshot.absent.first(where: { !query.queues(of: $0.queues).isEmpty }) {
            throw AbsentQueues(sentence: node.sentence)
        }
        let meant = Set(query.queues(of: snapshot.queues.map(\.queue)))
        unknownQueues = query.unknownQueues(of: snapshot.queues.map(\.queue))
        let places = snapshot.queues.filter { meant.contains($0.queue) }
        queues = places.map { ($0.queue, $0.sequence) }
        now = snapshot.time ?? 0
        let states = query.states
        if let names = query.namesToRead() {
            total = names.count { meant.contains($0.queue ?? "") }
            return
        }
        total = places.reduce(0) { sum, queue in states.reduce(sum) { $0 + (queue.counts[$1] ?? 0) } }
    }

    /// Copies a walk, with another closure that can end it early.
    private init(_ walk: ChangeWalk, stop: @escaping @Sendable (Result) -> Bool) {
        (broker, query, view, needsRecord) = (walk.broker, walk.query, walk.view, walk.needsRecord)
        (queues, unknownQueues, now, total) = (walk.queues, walk.unknownQueues, walk.now, walk.total)
        isLeftOut = walk.isLeftOut
        self.stop = stop
    }

    /// The highest sequence number of each queue when the walk began.
    package var starts: [String: Int64] { Dictionary(queues.map { ($0.name, $0.sequence) }) { first, _ in first } }

    /// Returns the walk as if it had begun earlier, with these highest sequence numbers.
    package func existing(_ starts: [String: Int64]) -> ChangeWalk {
        var walk = self
        walk.queues = queues.compactMap { queue in starts[queue.name].map { (queue.name, $0) } }
        return walk
    }

    /// Returns the walk without the operations for which the closure returns true.
    package func leavingOut(_ isLeftOut: @escaping @Sendable (OperationDetail) -> Bool) -> ChangeWalk {
        var walk = self
        walk.isLeftOut = isLeftOut
        return walk
    }

    /// Returns the walk with a closure that is called after each page. The walk ends when the closure returns true.
    package func stopping(when stop: @escaping @Sendable (Result) -> Bool) -> ChangeWalk {
        ChangeWalk(self, stop: stop)
    }

    /// Finds the operations in one pass, to count and show them before a change.
    ///
    /// - Parameters:
    ///   - sample: the most operations to return.
    ///   - allowed: the states in which the change is possible. Operations in other states count as refused and are
    ///     not returned.
    package func preview(
        sample: Int,
        of allowed: Set<OperationState>
    ) async throws -> (result: Result, sample: [OperationDetail]) {
        var result = Result()
        var refused = 0
        var states: [OperationState: Int] = [:]
        var shown: [OperationDetail] = []
        var meantQueues: [String: Int] = [:]
        for queue in queues where !result.isStopped {
            var handled = SequenceSet()
            try await pass(queue, &handled, &result, before: result) { name, found in
                let meant = found.filter { allowed.contains($0.state) }
                if !meant.isEmpty { meantQueues[name, default: 0] += meant.count }
                refused += found.count - meant.count
                for operation in found { states[operation.state, default: 0] += 1 }
                shown += meant.prefix(sample - shown.count)
            }
        }
        (result.refused, result.states, result.queues) = (refused, states, meantQueues)
        return (result, shown)
    }

    /// Finds all operations, each one once.
    ///
    /// - Parameter body: called with the queue and at most 500 ids, while the walk waits.
    package func run(_ body: (String, [OperationID]) async throws -> Void) async throws -> Result {
        var result = Result()
        for queue in queues where !result.isStopped {
            let before = result
            var handled = SequenceSet()
            var quiet = 0
            repeat {
                let moved = try await eventSequence(of: queue.name)
                let found = result.found
                try await pass(queue, &handled, &result, before: before) { queue, found in
                    try await body(queue, found.map(\.record.header.id))
                }
                quiet = result.found == found ? quiet + 1 : 0
                if quiet > 0, try await eventSequence(of: queue.name) == moved { break }
            } while quiet < Self.quietPasses && !result.isStopped
        }
        return result
    }

    private func eventSequence(of queue: String) async throws -> Int64 {
        try await broker.snapshot(queue: queue, executingRows: 0).eventSequence
    }

    /// - Parameter before: the result of the queues before this one. Each pass examines the same operations again.
    private func pass(
        _ queue: (name: String, sequence: Int64),
        _ handled: inout SequenceSet,
        _ result: inout Result,
        before: Result,
        _ body: (String, [OperationDetail]) async throws -> Void
    ) async throws {
        if let names = query.namesToRead() {
            return try await pass(queue, among: names, &handled, &result, before: before, body)
        }
        // Operations of this pass that do not match. A matching operation is counted once in all passes.
        var others = 0
        var unread = 0
        defer { result.unread = max(result.unread, before.unread + unread) }
        let states = Set(query.states)
        for state in Self.order where states.contains(state) {
            var chunk: [OperationDetail] = []
            var cursor: String?
            repeat {
                result.examined(others, since: before)
                result.isStopped = stop(result)
                if result.isStopped { return }
                let page = try await broker.page(
                    state: state,
                    queue: queue.name,
                    cursor: cursor,
                    limit: OperationPage.limit(query.sought(view)),
                    sought: query.sought(view)
                )
                cursor = page.cursor
                others += page.leftOut
                for operation in page.operations {
                    let header = operation.record.header
                    guard header.sequence <= queue.sequence, !handled.contains(header.sequence),
                        !isLeftOut(operation)
                    else { continue }
                    let match = query.match(operation, now: now, view: view)
                    if match == .unread { unread += 1 }
                    guard match == .yes, header.tracked || !needsRecord else {
                        others += 1
                        if match == .no, query.endsWalk(at: operation, now: now) { cursor = nil }
                        continue
                    }
                    handled.insert(header.sequence)
                    result.found += 1
                    chunk.append(operation)
                }
                if chunk.count > SluiceDefaults.batch - OperationPage.answered || (cursor == nil && !chunk.isEmpty) {
                    try await body(queue.name, chunk)
                    chunk = []
                }
            } while cursor != nil
        }
        result.examined(others, since: before)
    }

    /// Runs a pass over operations that are read by their ids.
    private func pass(
        _ queue: (name: String, sequence: Int64),
        among names: Set<DependencyName>,
        _ handled: inout SequenceSet,
        _ result: inout Result,
        before: Result,
        _ body: (String, [OperationDetail]) async throws -> Void
    ) async throws {
        let all = try await broker.matches(of: query, among: names, queues: [queue.name], now: now, view: view)
        result.scanned = max(result.scanned, before.scanned + all.scanned)
        result.unread = max(result.unread, before.unread + all.unread)
        let found = all.found.filter { operation in
            let header = operation.record.header
            return header.sequence <= queue.sequence && !handled.contains(header.sequence) && !isLeftOut(operation)
        }
        for start in stride(from: 0, to: found.count, by: SluiceDefaults.batch) {
            result.isStopped = stop(result)
            if result.isStopped { return }
            let chunk = Array(found[start..<min(start + SluiceDefaults.batch, found.count)])
            for operation in chunk { handled.insert(operation.record.header.sequence) }
            result.found += chunk.count
            try await body(queue.name, chunk)
        }
    }
}

/// A query for a change includes queues that cannot be read now.
package struct AbsentQueues: Error, CustomStringConvertible {
    package var sentence: String
    package var description: String { sentence }
}
