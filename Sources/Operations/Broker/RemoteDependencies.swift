/// What an operation depends on, as its queue calls it: the id alone, or `QUEUE/ID` if it is in another queue.
package struct DependencyName: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// nil = the queue of what depends on it.
    package var queue: String?
    package var id: OperationID

    package init(_ id: OperationID, queue: String? = nil) { (self.id, self.queue) = (id, queue) }

    /// Reads its description.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let last = parts.last, let id = OperationID(String(last)) else { return nil }
        self.init(id, queue: parts.count == 2 ? String(parts[0]) : nil)
    }

    package var description: String { queue.map { "\($0)/\(id)" } ?? id.description }

    /// As Redis compares them.
    package static func < (left: Self, right: Self) -> Bool {
        left.description.utf8.lexicographicallyPrecedes(right.description.utf8)
    }
}

extension Dependency {
    package var name: DependencyName { DependencyName(id, queue: queue) }
}

/// What a queue says to another one of its operations: how it stands.
package struct RemoteState: Sendable, Equatable {
    /// As the scripts write it.
    package enum Status: String, Sendable, CaseIterable {
        case finished = "f"
        case dead = "d"
        case cancelled = "c"
        case expired = "e"
        /// It was removed before it ended.
        case removed = "m"
        /// It has not ended.
        case live = "-"
        case unknown = "?"
        /// It is there, but so many queues have to hear of its end that one more may not.
        case crowded = "!"
    }

    package var id: OperationID
    /// A retry raises it.
    package var sequence: Int64
    package var status: Status
    /// JSON of one that has finished; empty = there is none, or it is longer than `DependencyInput.shortResultBytes`.
    package var result: [UInt8]

    package init(_ id: OperationID, _ status: Status, sequence: Int64, result: [UInt8] = []) {
        (self.id, self.status, self.sequence, self.result) = (id, status, sequence, result)
    }
}

/// Ends of which another queue has to hear.
package struct Relay: Sendable, Equatable {
    /// The other queue.
    package var queue: String
    package var ends: [RemoteState]

    package init(queue: String, ends: [RemoteState]) { (self.queue, self.ends) = (queue, ends) }
}

/// What a look at operations in other queues has shown.
package struct RemoteQuestions: Sendable, Equatable {
    /// Those whose queues have to be asked, each with its queue.
    package var names: [DependencyName] = []
    /// Groups whose members are to be cancelled.
    package var cancelled: [OperationID] = []
    /// More are to be looked at now.
    package var more = false

    package init() {}
}

/// Lets operations of one queue depend on those of another one.
package protocol LinkingBroker: Sendable {
    /// Makes a queue tell another one how operations end. What has ended already is in the answer.
    ///
    /// - Parameters:
    ///   - ids: the operations, at most `Defaults.batch`.
    ///   - queue: their queue.
    ///   - dependentQueue: the queue of what is to depend on them.
    /// - Returns: how each of them stands.
    func link(_ ids: [OperationID], in queue: String, from dependentQueue: String) async throws -> [RemoteState]

    /// Tells a queue how operations of another one stand.
    func resolve(_ states: [RemoteState], of source: String, queue: String) async throws
}

/// Carries ends from queue to queue. Each step may be repeated, and may be the last that its caller does: another one goes on.
package protocol RelayingBroker: LinkingBroker, OperationCancelling, EdgeReading {
    /// Takes ends of which another queue has to hear, for a second.
    ///
    /// - Returns: nil = there are none, or others have taken them.
    func relay(queue: String) async throws -> Relay?

    /// Takes ends out of which the other queue has heard.
    ///
    /// - Returns: whether there is more to relay now.
    func relayed(_ relay: Relay, queue: String) async throws -> Bool

    /// Looks at what operations of a queue wait for in others, as often as it is time to.
    func ask(queue: String) async throws -> RemoteQuestions
}

/// What `carryEnds` has done.
package struct CarriedEnds: Sendable {
    /// How many ends others have heard of.
    package var count = 0
    /// What went wrong last; nil = nothing.
    package var failure: (any Error)?
}

extension RelayingBroker {
    /// Carries the ends of a queue to others that have to hear of them, and asks others for what its operations wait for, as far as it is time to. What
    /// cannot be reached does not keep the rest from being carried.
    package func carryEnds(of queue: String) async -> CarriedEnds {
        var carried = CarriedEnds()
        do {
            try await relayEnds(of: queue, &carried)
            var questions: RemoteQuestions
            repeat {
                questions = try await ask(queue: queue)
                await answer(questions, queue: queue, &carried)
            } while questions.more && !Task.isCancelled
        } catch { carried.failure = error }
        return carried
    }

    private func relayEnds(of queue: String, _ carried: inout CarriedEnds) async throws {
        var away: Set<String> = []
        while let relay = try await relay(queue: queue) {
            // Its turn is over, and no other queue is left.
            if away.contains(relay.queue) { break }
            do {
                try await resolve(relay.ends, of: queue, queue: relay.queue)
                _ = try await relayed(relay, queue: queue)
                carried.count += relay.ends.count
            } catch {
                carried.failure = error
                away.insert(relay.queue)
            }
            if Task.isCancelled { return }
        }
    }

    private func answer(_ questions: RemoteQuestions, queue: String, _ carried: inout CarriedEnds) async {
        if !questions.cancelled.isEmpty {
            let request = CancelRequest(reason: "its group was cancelled", by: "worker")
            do { _ = try await cancelWithMembers(questions.cancelled, request: request, queue: queue) } catch {
                carried.failure = error
            }
        }
        for (source, names) in Dictionary(grouping: questions.names, by: \.queue) {
            guard let source else { continue }
            do {
                let said = try await link(names.map(\.id), in: source, from: queue)
                try await resolve(said, of: source, queue: queue)
            } catch { carried.failure = error }
        }
    }
}
