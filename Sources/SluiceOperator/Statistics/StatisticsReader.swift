import Operations

/// Reads the statistics of several queues in parallel over the pipelined connection. Leaves out queues of unreachable
/// cluster nodes.
package struct StatisticsReader: Sendable {
    private let broker: any OperatorBroker
    package let queues: [String]
    package let absent: [AbsentNode]

    /// Finds the queues and the unreachable nodes.
    ///
    /// - Parameter wanted: the queues; empty = all.
    /// - Throws: `OperationsError` with `.invalidName`; `LookupFailure` for a queue that does not exist.
    package init(_ broker: any OperatorBroker, _ wanted: [String]) async throws {
        self.broker = broker
        for queue in wanted { try NameRule.check(queue, role: "queue") }
        let known = try await broker.queues()
        for queue in wanted where !known.contains(queue) { throw LookupFailure.unknownQueue(queue, known: known) }
        (queues, absent) = try await broker.reachable(wanted.isEmpty ? known : Set(wanted).sorted())
    }

    /// Returns a reply for each queue, in the order of `queues`.
    package func read(_ query: StatisticsQuery) async throws -> [(queue: String, reply: StatisticsReply)] {
        try await each { broker, queue in try await broker.statistics(query, queue: queue) }
    }

    /// Returns a value for each queue, in the order of `queues`.
    func each<Value: Sendable>(
        _ body: @escaping @Sendable (any OperatorBroker, String) async throws -> Value
    ) async throws -> [(queue: String, reply: Value)] {
        try await each(queues[...], body)
    }

    /// Returns a value for each of some queues, in their order.
    func each<Value: Sendable>(
        _ queues: ArraySlice<String>,
        _ body: @escaping @Sendable (any OperatorBroker, String) async throws -> Value
    ) async throws -> [(queue: String, reply: Value)] {
        let found = try await withThrowingTaskGroup(of: (String, Value).self) { group in
            for queue in queues { group.addTask { (queue, try await body(broker, queue)) } }
            return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
        return queues.compactMap { queue in found[queue].map { (queue, $0) } }
    }
}
