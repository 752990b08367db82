import Operations
import Sluice

/// Waits until operations have ended, and shows progress meanwhile.
package struct EndWaiter: Sendable {
    package let client: SluiceClient
    package let console: Console

    /// The largest number of open operations to read for the progress line.
    private static let shownOperations = 50

    package init(_ client: SluiceClient, console: Console) {
        self.client = client
        self.console = console
    }

    /// Waits for all operations, or for the first one to end.
    ///
    /// - Parameters:
    ///   - timeout: the longest wait; nil = no limit.
    ///   - any: whether the end of one operation is enough.
    /// - Returns: the details of each operation after the wait, in order; nil for an operation that does not exist.
    package func wait(for targets: [Location], timeout: Duration?, any: Bool = false) async throws -> [OperationDetail?]
    {
        let deadline = timeout.map { ContinuousClock.now + $0 }
        let parts = any ? targets.map { [$0] } : Array(Dictionary(grouping: targets, by: \.queue).values)
        let counts = EndCounts(parts)
        let reporter = Task { await report(counts) }
        defer {
            reporter.cancel()
            console.clearStatus()
        }
        try await withThrowingTaskGroup { group in
            for (index, part) in parts.enumerated() {
                group.addTask {
                    _ = try await client.broker.awaitEnd(of: part.map(\.id), queue: part[0].queue, timeout: timeout) {
                        counts.note($0, of: index)
                    }
                }
            }
            if any { try await group.next() } else { try await group.waitForAll() }
            group.cancelAll()
        }
        return try await read(targets, until: deadline)
    }

    /// Reads the details for a wait. Repeats the read while Redis does not answer, until the deadline.
    func read(_ targets: [Location], until deadline: ContinuousClock.Instant?) async throws -> [OperationDetail?] {
        try await outlastingOutages(until: deadline, onOutage: console.warnOfOutage) { try await read(targets) }
    }

    /// Reads the current details of the operations, in order.
    package func read(_ targets: [Location]) async throws -> [OperationDetail?] {
        var found: [Location: OperationDetail] = [:]
        for (queue, locations) in Dictionary(grouping: targets, by: \.queue) {
            for detail in try await client.broker.allDetails(locations.map(\.id), queue: queue) {
                if let detail { found[Location(queue: queue, id: detail.id)] = detail }
            }
        }
        return targets.map { found[$0] }
    }

    private func report(_ counts: EndCounts) async {
        var rate = EndRate()
        await ProgressReport(console).show { time in
            let (ended, open) = counts.read(openLimit: Self.shownOperations)
            rate.add(ended: ended, at: time)
            guard let details = try? await read(open).compactMap({ $0 }) else { return nil }
            return EndProgress(ended: ended, total: counts.total, open: details, rate: rate).line(console.errors)
        }
    }
}

extension ExitStatus {
    /// The exit status for operations in these states.
    package static func ofEnds(_ states: some Sequence<OperationState>) -> ExitStatus {
        var status = ExitStatus.done
        for state in states {
            switch state {
            case .dead: return .dead
            case .cancelled, .expired: status = .cancelled
            default: if !state.isTerminal { return .timedOut }
            }
        }
        return status
    }
}
