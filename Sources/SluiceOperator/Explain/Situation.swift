import Operations
import Selectors

/// The facts that explain why an operation does not run.
package struct Situation: Sendable {
    package var detail: OperationDetail
    package var snapshot: QueueSnapshot
    /// The operations ahead of this one; nil unless it is ready and tracked.
    package var backlog: Backlog?
    /// Starts per second in the queue, measured over about a second; nil = not measured.
    package var startsPerSecond: Double?
    /// Whether the reader tried to measure `startsPerSecond`.
    package var isMeasured = true
    package var refusals: [WriteRefusal] = []
    /// The standing cancel that matches the operation while it waits.
    package var standing: StandingCancel?
    /// The state of the operation's limit key; nil unless the operation is ready and has one.
    package var limitKey: LimitKeyState?
    /// The average run time in seconds of bodies of the queue in the last minutes; nil if none has ended.
    package var meanRunSeconds: Double?
    /// Some of the dependencies, and the holder of the unique key, by the names that the operation uses for them.
    package var needed: [DependencyName: OperationDetail] = [:]
    /// The keys with which arguments are read.
    package var view = PayloadView()

    /// A worker of the queue with a valid lease.
    package struct LiveWorker: Sendable {
        package var row: WorkerRow
        /// The last report of the worker; nil before its first heartbeat.
        package var info: WorkerInfo?

        package var label: String {
            guard let name = info?.name, !name.isEmpty else { return "…" + row.worker.suffix(6) }
            return name
        }
    }

    package var now: Int64 { snapshot.time }
    package var state: OperationState { detail.state }
    package var queue: String { detail.queue }
    package var name: String { detail.envelope.name }

    package var liveWorkers: [LiveWorker] {
        snapshot.liveWorkers.map { LiveWorker(row: $0, info: WorkerInfo($0.info)) }
    }

    /// Live workers that handle the operation's name.
    package var knowingWorkers: [LiveWorker] { liveWorkers.filter { $0.info?.handles.contains(name) ?? false } }

    /// The workers of `knowingWorkers` that take new operations.
    package var takers: [LiveWorker] { knowingWorkers.filter { $0.info?.takesWork ?? false } }

    /// The row of the worker that runs the operation; nil if it does not run, or if its worker is not among the first
    /// 200.
    package var owner: WorkerRow? { snapshot.workers.first { $0.worker == detail.worker } }
}

/// Reads situations. Two snapshots of each queue, a second apart, give the rate of starts.
package struct SituationReader {
    package static let pause: Duration = .seconds(1)
    /// The number of running operations to read: the ones that occupy a limited queue.
    private static let rows = 20
    /// The number of recent minutes whose statistics give the run time of bodies.
    private static let statisticsMinutes = 10
    /// The number of dependencies to read for each operation.
    package static let neededRead = 5
    private let broker: any MonitorBroker
    private let view: PayloadView

    /// - Parameter view: the keys with which arguments are read.
    package init(broker: any MonitorBroker, view: PayloadView = PayloadView()) {
        self.broker = broker
        self.view = view
    }

    /// The largest number of operations in a chain.
    private static let chainLength = 5
    /// The largest number of operations for which chains are followed.
    private static let followed = 10

    /// Explains why operations do not run, in the order of `details`. Each explanation includes the chain of operations
    /// that the operation waits for.
    ///
    /// - Parameter isMeasured: whether to measure starts for a second, for an estimate.
    package func explain(_ details: [OperationDetail], isMeasured: Bool = true) async throws -> [Explanation] {
        var explanations = try await read(details, isMeasured: isMeasured).map { Explanation($0) }
        guard explanations.count <= Self.followed else { return explanations }
        for index in explanations.indices {
            // The server of a queue in the chain may be unreachable; the explanation then has no chain.
            do { explanations[index].chain = try await chain(behind: explanations[index]) } catch let error
                as OperationsError
                where error.code == .unavailable
            {}
        }
        return explanations
    }

    private func chain(behind explanation: Explanation) async throws -> [Explanation] {
        var chain: [Explanation] = []
        var seen = [DependencyName(explanation.situation.detail.id, queue: explanation.situation.queue)]
        var next = explanation.leadsTo
        while let name = next, let queue = name.queue, !seen.contains(name), chain.count < Self.chainLength {
            seen.append(name)
            let details = try await broker.details([name.id], queue: queue).compactMap { $0 }
            guard let situation = try await read(details, isMeasured: false).first else { break }
            chain.append(Explanation(situation))
            next = chain.last?.leadsTo
        }
        return chain
    }

    /// Reads the situations of operations, in order.
    ///
    /// - Parameter isMeasured: whether to measure starts for a second.
    package func read(_ details: [OperationDetail], isMeasured: Bool = true) async throws -> [Situation] {
        let queues = Set(details.map(\.queue))
        let refusals = try await broker.writeRefusals()
        let first = try await snapshots(queues)
        var standing: [String: StandingCancels] = [:]
        for queue in queues { standing[queue] = try await broker.standingCancels(queue: queue) }
        var backlogs: [OperationID: Backlog] = [:]
        for detail in details where detail.state == .ready && detail.record.header.tracked {
            backlogs[detail.id] = try await broker.backlog(
                aheadOf: detail.id,
                queue: detail.queue,
                limit: Backlog.limit
            )
        }
        var keys: [OperationID: LimitKeyState] = [:]
        for detail in details where detail.state == .ready {
            guard let key = detail.limitKey else { continue }
            keys[detail.id] = try await broker.limitKey(key, queue: detail.queue)
        }
        var meanRuns: [String: Double] = [:]
        for queue in Set(details.filter { keys[$0.id] != nil }.map(\.queue)) {
            let run = try await broker.recentStatistics(queue: queue, minutes: Self.statisticsMinutes).sum.run
            let count = run.counts.reduce(0, +)
            if count > 0 { meanRuns[queue] = Double(run.microseconds) / Double(count) / 1_000_000 }
        }
        var needed: [OperationID: [DependencyName: OperationDetail]] = [:]
        for detail in details { needed[detail.id] = try await self.needed(by: detail) }
        let measured = Set(details.filter { isMeasured && backlogs[$0.id] != nil }.map(\.queue))
        let second = try await secondSnapshots(measured.filter { first[$0].map { !$0.liveWorkers.isEmpty } ?? false })
        return details.compactMap { detail in
            guard let before = first[detail.queue] else { return nil }
            return Situation(
                detail: detail,
                snapshot: before,
                backlog: backlogs[detail.id],
                startsPerSecond: second[detail.queue].flatMap { Self.starts(from: before, to: $0) },
                isMeasured: isMeasured,
                refusals: refusals,
                standing: standing[detail.queue].flatMap { living(of: $0, matching: detail) },
                limitKey: keys[detail.id],
                meanRunSeconds: meanRuns[detail.queue],
                needed: needed[detail.id] ?? [:],
                view: view
            )
        }
    }

    /// The first dependencies, and the holder of the unique key.
    private func needed(by detail: OperationDetail) async throws -> [DependencyName: OperationDetail] {
        var unmet = detail.links.needs.filter { !$0.isMet }.prefix(Self.neededRead).map(\.dependency.name)
        if detail.waitsForTurn, let holder = detail.keyHolder { unmet.append(DependencyName(holder)) }
        guard detail.state == .blocked || detail.state == .cancelled, !unmet.isEmpty else { return [:] }
        var needed: [DependencyName: OperationDetail] = [:]
        for (queue, names) in Dictionary(grouping: unmet, by: \.queue) {
            let details = try await broker.details(names.map(\.id), queue: queue ?? detail.queue)
            for (name, detail) in zip(names, details) { needed[name] = detail }
        }
        return needed
    }

    private func living(of standing: StandingCancels, matching detail: OperationDetail) -> StandingCancel? {
        guard !detail.state.isTerminal, detail.state != .executing else { return nil }
        return standing.cancels.first { cancel in
            let query = try? OperationQuery(parsing: cancel.query)
            return query?.matches(detail, now: standing.time, view: view) ?? false
        }
    }

    private func secondSnapshots(_ queues: Set<String>) async throws -> [String: QueueSnapshot] {
        guard !queues.isEmpty else { return [:] }
        try await Task.sleep(for: Self.pause)
        return try await snapshots(queues)
    }

    private func snapshots(_ queues: Set<String>) async throws -> [String: QueueSnapshot] {
        try await withThrowingTaskGroup(of: QueueSnapshot.self) { group in
            for queue in queues {
                group.addTask { try await broker.snapshot(queue: queue, executingRows: Self.rows) }
            }
            return try await group.reduce(into: [:]) { $0[$1.queue] = $1 }
        }
    }

    private static func starts(from before: QueueSnapshot, to after: QueueSnapshot) -> Double? {
        guard after.time > before.time else { return nil }
        let started = (after.totals["started"] ?? 0) - (before.totals["started"] ?? 0)
        return Double(max(0, started)) * 1000 / Double(after.time - before.time)
    }
}
