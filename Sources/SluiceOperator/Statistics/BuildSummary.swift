import Operations
import Selectors

/// A build of the app: when a worker of some queues first reported it, and how many report it now.
package struct BuildSummary: Sendable, Equatable {
    package var build: String
    /// Milliseconds of server time.
    package var firstSeenAt: Int64
    /// Live workers of the queues.
    package var workers: Int

    /// Combines the builds of queues, the newest first.
    ///
    /// - Parameter workers: the workers of the namespace.
    package static func merge(
        _ queues: [(queue: String, builds: [BuildSight])],
        workers: [WorkerSummary]
    ) -> [BuildSummary] {
        var firstSeen: [String: Int64] = [:]
        // A program that wrote the text may not keep the rule.
        for sight in queues.flatMap(\.builds) where BuildRule.allows(sight.build) {
            firstSeen[sight.build] = min(firstSeen[sight.build] ?? .max, sight.firstSeenAt)
        }
        let names = Set(queues.map(\.queue))
        let serving = workers.filter { !$0.isLost && !names.isDisjoint(with: $0.servedQueues) }
        let counts = Dictionary(grouping: serving) { $0.info?.build }.mapValues(\.count)
        return firstSeen.map { BuildSummary(build: $0.key, firstSeenAt: $0.value, workers: counts[$0.key] ?? 0) }
            .sorted { ($0.firstSeenAt, $0.build) > ($1.firstSeenAt, $1.build) }
    }
}

extension [BuildSummary] {
    /// - Throws: `LookupFailure` for a build that is not among them.
    package func named(_ build: String) throws(LookupFailure) -> BuildSummary {
        if let found = first(where: { $0.build == build }) { return found }
        let near = Suggestion.nearest(to: build, among: map(\.build)).map {
            "; did you mean \(OperationsError.quoted($0))?"
        }
        throw LookupFailure(
            .notFound,
            "no worker of these queues has reported the build \(OperationsError.quoted(build))" + (near ?? ""),
            notes: isEmpty ? [] : ["the newest: " + prefix(5).map(\.build).joined(separator: ", ")],
            fix: .command("workers ls")
        )
    }
}

extension StatisticsReader {
    /// Reads the builds that workers of the queues have reported, the newest first.
    ///
    /// - Parameter workers: the workers of the namespace.
    package func builds(_ workers: [WorkerSummary] = []) async throws -> [BuildSummary] {
        let replies = try await each { broker, queue in try await broker.builds(queue: queue) }
        return BuildSummary.merge(replies.map { ($0.queue, $0.reply) }, workers: workers)
    }
}
