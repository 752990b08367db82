/// The name of a dependency in the dependent's queue: the id alone, or `QUEUE/ID` for another queue.
package struct DependencyName: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The queue of the dependency; nil = the queue of the dependent.
    package var queue: String?
    package var id: OperationID

    package init(_ id: OperationID, queue: String? = nil) { (self.id, self.queue) = (id, queue) }

    /// Reads the text of `description`.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let last = parts.last, let id = OperationID(String(last)) else { return nil }
        self.init(id, queue: parts.count == 2 ? String(parts[0]) : nil)
    }

    package var description: String { queue.map { "\($0)/\(id)" } ?? id.description }

    /// Compares names as Redis does.
    package static func < (left: Self, right: Self) -> Bool {
        left.description.utf8.lexicographicallyPrecedes(right.description.utf8)
    }
}

extension OperationDependency {
    package var name: DependencyName { DependencyName(id, queue: queue) }
}

/// The state of an operation, as its queue reports it to another queue.
package struct RemoteState: Sendable, Equatable {
    /// The letter that scripts write.
    package enum Status: String, Sendable, CaseIterable {
        case finished = "f"
        case dead = "d"
        case cancelled = "c"
        case expired = "e"
        /// The operation was removed before it ended.
        case removed = "m"
        /// The operation has not ended.
        case live = "-"
        case unknown = "?"
        /// The operation exists, but the most allowed number of queues already waits for its end.
        case crowded = "!"
    }

    package var id: OperationID
    /// A number that a retry raises.
    package var sequence: Int64
    package var status: Status
    /// The result of a finished operation as JSON; empty = no result, or one longer than
    /// `DependencyInput.shortResultBytes`.
    package var result: [UInt8]

    package init(_ id: OperationID, _ status: Status, sequence: Int64, result: [UInt8] = []) {
        (self.id, self.status, self.sequence, self.result) = (id, status, sequence, result)
    }
}

/// Ends to report to another queue.
package struct Relay: Sendable, Equatable {
    /// The queue to notify.
    package var queue: String
    package var ends: [RemoteState]

    package init(queue: String, ends: [RemoteState]) { (self.queue, self.ends) = (queue, ends) }
}

/// The answer to a look at dependencies in other queues.
package struct RemoteQuestions: Sendable, Equatable {
    /// The dependencies whose queues must be asked, each with its queue.
    package var names: [DependencyName] = []
    /// Groups whose members must be cancelled.
    package var cancelled: [OperationID] = []
    /// Whether more dependencies are due now.
    package var more = false

    package init() {}
}

/// Lets operations of one queue depend on operations of another queue.
package protocol LinkingBroker: Sendable {
    /// Makes a queue report the ends of operations to another queue. Ends of the past are in the answer.
    ///
    /// - Parameters:
    ///   - ids: the operations, at most `SluiceDefaults.batch`.
    ///   - queue: the queue of the operations.
    ///   - dependentQueue: the queue of the future dependents.
    /// - Returns: the state of each operation.
    func link(_ ids: [OperationID], in queue: String, from dependentQueue: String) async throws -> [RemoteState]

    /// Reports the states of operations of one queue to another queue.
    func resolve(_ states: [RemoteState], of source: String, queue: String) async throws
}

/// Relays ends from queue to queue. Each step may be repeated, and its caller may stop after any step: another worker
/// continues.
package protocol RelayingBroker: LinkingBroker, OperationCancelling, EdgeReading {
    /// Reserves ends to report to another queue, for one second.
    ///
    /// - Returns: nil = no ends are left, or other workers have reserved them.
    func relay(queue: String) async throws -> Relay?

    /// Removes ends that the other queue has stored.
    ///
    /// - Returns: whether more ends can be relayed now.
    func relayed(_ relay: Relay, queue: String) async throws -> Bool

    /// Reads the dependencies of a queue's operations in other queues, as often as they are due to be asked for.
    func ask(queue: String) async throws -> RemoteQuestions
}

/// The outcome of `relayEnds`.
package struct RelayedEnds: Sendable {
    /// The number of ends that were relayed.
    package var count = 0
    /// The last error; nil = no error.
    package var failure: (any Error)?
}

extension RelayingBroker {
    /// Relays the ends of a queue to other queues, and asks other queues for dependencies that are due. A queue that
    /// cannot be reached does not block the others.
    package func relayEnds(of queue: String) async -> RelayedEnds {
        var outcome = RelayedEnds()
        do {
            try await relayEnds(of: queue, &outcome)
            var questions: RemoteQuestions
            repeat {
                questions = try await ask(queue: queue)
                await answer(questions, queue: queue, &outcome)
            } while questions.more && !Task.isCancelled
        } catch { outcome.failure = error }
        return outcome
    }

    private func relayEnds(of queue: String, _ outcome: inout RelayedEnds) async throws {
        var away: Set<String> = []
        while let relay = try await relay(queue: queue) {
            // Every queue with ends left was tried in this call and cannot be reached.
            if away.contains(relay.queue) { break }
            do {
                try await resolve(relay.ends, of: queue, queue: relay.queue)
                _ = try await relayed(relay, queue: queue)
                outcome.count += relay.ends.count
            } catch {
                outcome.failure = error
                away.insert(relay.queue)
            }
            if Task.isCancelled { return }
        }
    }

    private func answer(_ questions: RemoteQuestions, queue: String, _ outcome: inout RelayedEnds) async {
        if !questions.cancelled.isEmpty {
            let request = CancelRequest(reason: "its group was cancelled", by: "worker")
            do { _ = try await cancelWithMembers(questions.cancelled, request: request, queue: queue) } catch {
                outcome.failure = error
            }
        }
        for (source, names) in Dictionary(grouping: questions.names, by: \.queue) {
            guard let source else { continue }
            do {
                let said = try await link(names.map(\.id), in: source, from: queue)
                try await resolve(said, of: source, queue: queue)
            } catch { outcome.failure = error }
        }
    }
}
