import Operations
import Sluice
import SluiceMonitor
import SluiceOperator

/// Reads the statistics of several queues in parallel over the pipelined connection. Leaves out queues of unreachable
/// cluster nodes.
struct StatisticsReader: Sendable {
    let client: SluiceClient
    let queues: [String]
    let absent: [AbsentNode]

    /// Finds the queues and the unreachable nodes.
    ///
    /// - Parameter wanted: the queues; empty = all.
    init(_ client: SluiceClient, _ wanted: [String]) async throws {
        self.client = client
        for queue in wanted { try NameRule.check(queue, role: "queue") }
        for queue in wanted { try await client.knownQueue(queue) }
        let all = wanted.isEmpty ? try await client.broker.queues() : Set(wanted).sorted()
        (queues, absent) = try await client.broker.reachable(all)
    }

    /// Returns a reply for each queue, in the order of `queues`.
    func read(_ query: StatisticsQuery) async throws -> [(queue: String, reply: StatisticsReply)] {
        try await each { try await client.broker.statistics(query, queue: $0) }
    }

    /// Returns a value for each queue, in the order of `queues`.
    func each<Value: Sendable>(
        _ body: @escaping @Sendable (String) async throws -> Value
    ) async throws -> [(queue: String, reply: Value)] {
        let found = try await withThrowingTaskGroup(of: (String, Value).self) { group in
            for queue in queues { group.addTask { (queue, try await body(queue)) } }
            return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
        return queues.compactMap { queue in found[queue].map { (queue, $0) } }
    }
}
