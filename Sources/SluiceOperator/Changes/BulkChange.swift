import Operations
import Selectors
import TerminalText

/// The operations that a bulk change is for.
package enum BulkTarget: Sendable, Equatable {
    case marked([OperationAddress])
    /// All operations that match a query and exist when the change begins.
    case matching(OperationQuery)
}

/// A change of many operations, before it begins.
package struct BulkChange: Sendable, Equatable {
    package var kind: ChangeKind
    package var target: BulkTarget
    /// The time over which retried operations start evenly; nil = now.
    package var spread: Duration?

    package init(_ kind: ChangeKind, _ target: BulkTarget, spread: Duration? = nil) {
        self.kind = kind
        self.target = target
        self.spread = spread
    }
}

/// The effect of a bulk change, counted before it is confirmed.
package struct BulkPlan: Sendable, Equatable {
    package var change: BulkChange
    /// The number of operations in each state.
    package var states: [OperationState: Int]
    /// Operations that no longer exist.
    package var missing = 0
    /// Operations that could not be compared with the query, because they are encrypted and no key is set.
    package var unread = 0

    /// The number of operations that the change is possible for.
    package var possible: Int { change.kind.allowed.reduce(0) { $0 + (states[$1] ?? 0) } }
}

/// An operation that a bulk change did not change.
package struct BulkRefusal: Sendable, Equatable {
    package var id: OperationID
    /// nil = an older version stored the refusal.
    package var queue: String?
    /// `is finished`
    package var reason: String

    package init(id: OperationID, queue: String?, reason: String) {
        (self.id, self.queue, self.reason) = (id, queue, reason)
    }
}

/// The progress of a bulk change.
package struct BulkProgress: Sendable, Equatable {
    /// The most refusals that are stored with their ids.
    package static let keptRefusals = 100

    package var change: BulkChange
    /// The number of operations that were expected when the change was confirmed.
    package var expected: Int
    package var done = 0
    package var refused = 0
    /// The first refused operations.
    package var refusals: [BulkRefusal] = []
    /// The reason why the change ended; nil = it still runs.
    package var end: End?

    package enum End: Sendable, Equatable {
        case complete
        /// The user stopped the change.
        case stopped
        case failed(String)
    }

    package init(_ change: BulkChange, expected: Int) {
        self.change = change
        self.expected = expected
    }

    package mutating func add(_ outcomes: [OperationOutcome]) {
        for outcome in outcomes {
            guard outcome.result != .done, let address = outcome.address else {
                done += 1
                continue
            }
            refused += 1
            if refusals.count < Self.keptRefusals {
                refusals.append(BulkRefusal(id: address.id, queue: address.queue, reason: outcome.text))
            }
        }
    }
}

/// Counts and performs a bulk change, in bounded steps.
package struct BulkRun: Sendable {
    /// The operations of one call: few enough for a smooth progress.
    private static let chunk = 100

    package let broker: any OperatorBroker
    package let change: BulkChange
    /// The keys that read arguments, for queries.
    package let view: PayloadView

    package init(broker: any OperatorBroker, change: BulkChange, view: PayloadView) {
        self.broker = broker
        self.change = change
        self.view = view
    }

    /// Counts the operations by state. Nothing is changed.
    package func plan() async throws -> BulkPlan {
        switch change.target {
        case .matching(let query):
            let (result, _) = try await walk(query).preview(sample: 0, of: Set(change.kind.allowed))
            return BulkPlan(change: change, states: result.states, unread: result.unread)
        case .marked(let addresses):
            var plan = BulkPlan(change: change, states: [:])
            for (queue, ids) in Self.chunks(addresses, of: SluiceDefaults.batch) {
                for detail in try await broker.details(ids, queue: queue) {
                    if let detail { plan.states[detail.state, default: 0] += 1 } else { plan.missing += 1 }
                }
            }
            return plan
        }
    }

    /// Performs the change. If the task is cancelled, the change ends early and reports `.stopped`.
    ///
    /// - Parameter report: called after each step, and at the end.
    package func run(reason: String, by: String, expected: Int, _ report: (BulkProgress) -> Void) async {
        var progress = BulkProgress(change, expected: expected)
        let request = CancelRequest(reason: reason, by: by, storesIntent: true)
        let step = OperationChange(broker, change.kind, request)
        let spread = change.spread.map { Spread($0, count: expected) }
        do {
            let isComplete = try await eachChunk { queue, ids in
                // Waiting for Redis can be stopped here, before the step is sent.
                try await broker.requireAnswer(of: queue)
                try Task.checkCancellation()
                progress.add(try await step.apply(ids, spread: spread, queue: queue))
                report(progress)
            }
            progress.end = isComplete ? .complete : .stopped
        } catch is CancellationError {
            progress.end = .stopped
        } catch {
            progress.end = Task.isCancelled ? .stopped : .failed("\(error)")
        }
        report(progress)
    }

    /// - Returns: false if the task was cancelled before the end.
    private func eachChunk(_ body: (String, [OperationID]) async throws -> Void) async throws -> Bool {
        switch change.target {
        case .matching(let query):
            return try await !walk(query).stopping { _ in Task.isCancelled }.run(body).isStopped
        case .marked(let addresses):
            for (queue, ids) in Self.chunks(addresses, of: Self.chunk) {
                if Task.isCancelled { return false }
                try await body(queue, ids)
            }
            return true
        }
    }

    private func walk(_ query: OperationQuery) async throws -> ChangeWalk {
        var query = query
        if !query.terms.contains(where: { $0.field == .state }) { query.terms.append(.states(change.kind.searched)) }
        query = try await broker.resolving(query)
        let needsRecord = change.kind.needsRecord
        return try await ChangeWalk(broker: broker, query: query, view: view, needsRecord: needsRecord)
    }

    /// Splits addresses into chunks for one call each, by queue.
    private static func chunks(_ addresses: [OperationAddress], of size: Int) -> [(String, [OperationID])] {
        Dictionary(grouping: addresses, by: \.queue).sorted { $0.key < $1.key }.flatMap { queue, addresses in
            stride(from: 0, to: addresses.count, by: size).map { start in
                (queue, addresses[start..<min(start + size, addresses.count)].map(\.id))
            }
        }
    }
}
