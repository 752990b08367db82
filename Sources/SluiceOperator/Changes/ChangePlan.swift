import Operations
import Selectors
import TerminalText

extension OperationState {
    /// The states of operations that wait: those that `queue purge` removes.
    package static let waiting: [OperationState] = allCases.filter(\.isWaiting)
}

/// The effect of a stored change, counted before it is confirmed.
package struct ChangePlan: Sendable {
    /// The most operations to compare with the query. Beyond it, the count is a lower bound.
    package static let scanLimit = 100_000
    /// The number of operations whose dependents and keys are looked at.
    private static let examined = 500

    package var kind: ChangeKind
    /// The number of operations in each state.
    package var states: [OperationState: Int] = [:]
    /// Whether all operations were compared with the query.
    package var isExact = true
    /// The number of operations that could not be compared, because no key is set for their arguments.
    package var unread = 0
    /// The number of marked operations that no longer exist.
    package var missing = 0
    /// The first operations that the change is possible for.
    package var sample: [OperationDetail] = []
    /// Whether ready operations without a record may match. The change neither counts nor changes them.
    package var leavesUntracked = false
    /// Sentences about queues of the query that do not exist.
    package var unknownQueues: [String] = []
    package var consequences: [String] = []
    /// Unique keys that other operations have now; only of a retry.
    package var busyKeys = BusyKeys()
    /// The queues with operations that the change is possible for, as far as they were counted; most operations first.
    package var shares: [QueueShare] = []
    /// The highest sequence number of each queue: only older operations are changed.
    package var starts: [String: Int64] = [:]

    /// The number of operations that the change is possible for.
    package var count: Int { kind.allowed.reduce(0) { $0 + (states[$1] ?? 0) } }
    /// The number of operations in states that refuse the change.
    package var refused: Int { states.values.reduce(0, +) - count }
    package var queues: [String] { shares.map(\.queue).sorted() }

    /// Counts the operations of a change. Nothing is changed.
    package init(
        _ kind: ChangeKind,
        _ target: ChangeJob.Target,
        broker: any OperatorBroker,
        view: PayloadView,
        scanLimit: Int = Self.scanLimit
    ) async throws {
        self.kind = kind
        let snapshot = try await broker.namespaceSnapshot(executingRows: 0) { .zero }
        switch target {
        case .matching(let text):
            try await count(
                ChangeJob(kind, target, reason: "", by: "", expected: 0).query(text),
                broker,
                view,
                snapshot,
                scanLimit
            )
        case .marked(let addresses): try await count(addresses, broker, snapshot)
        }
        if kind == .retry { busyKeys = try await BusyKeys(of: sample, broker) }
        consequences = Self.consequences(of: kind, sample, shares, isExact: isExact, count: count, busy: busyKeys.count)
    }

    private mutating func share(_ counts: [String: Int], _ snapshot: NamespaceSnapshot) {
        shares = counts.filter { $0.value > 0 }.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { queue, count in
            QueueShare(queue: queue, count: count, snapshot.queues.first { $0.queue == queue })
        }
    }

    private mutating func count(
        _ query: OperationQuery,
        _ broker: any OperatorBroker,
        _ view: PayloadView,
        _ snapshot: NamespaceSnapshot,
        _ scanLimit: Int
    ) async throws {
        let query = try await broker.resolving(query, snapshot: snapshot)
        let walk = try await ChangeWalk(broker: broker, query: query, view: view, needsRecord: kind.needsRecord)
            .stopping { $0.scanned >= scanLimit }
        let (result, found) = try await walk.preview(sample: Self.examined, of: Set(kind.allowed))
        (states, unread, sample) = (result.states, result.unread, found)
        (isExact, unknownQueues, starts) = (!result.isStopped, walk.unknownQueues, walk.starts)
        share(result.queues, snapshot)
        leavesUntracked = kind.needsRecord && query.states.contains(.ready)
        // Redis counts states and queues by itself, but ready operations together with untracked ones.
        guard !isExact, !query.filtersRows, !leavesUntracked else { return }
        states = [:]
        var counts: [String: Int] = [:]
        for queue in snapshot.queues where starts[queue.queue] != nil {
            for state in query.states {
                let count = queue.counts[state] ?? 0
                states[state, default: 0] += count
                if kind.allowed.contains(state) { counts[queue.queue, default: 0] += count }
            }
        }
        share(counts, snapshot)
        isExact = true
    }

    private mutating func count(
        _ addresses: [OperationAddress],
        _ broker: any OperatorBroker,
        _ snapshot: NamespaceSnapshot
    ) async throws {
        var counts: [String: Int] = [:]
        for (queue, addresses) in Dictionary(grouping: addresses, by: \.queue).sorted(by: { $0.key < $1.key }) {
            starts[queue] = snapshot.queues.first { $0.queue == queue }?.sequence
            for detail in try await broker.allDetails(addresses.map(\.id), queue: queue) {
                guard let detail else {
                    missing += 1
                    continue
                }
                states[detail.state, default: 0] += 1
                guard kind.allowed.contains(detail.state) else { continue }
                sample.append(detail)
                counts[queue, default: 0] += 1
            }
        }
        share(counts, snapshot)
    }

    // MARK: Consequences

    private static func consequences(
        of kind: ChangeKind,
        _ sample: [OperationDetail],
        _ shares: [QueueShare],
        isExact: Bool,
        count: Int,
        busy: Int
    ) -> [String] {
        let first = count > sample.count ? "Of the first \(QuantityText.grouped(sample.count)), " : ""
        func sentence(_ number: Int, _ one: String, _ many: String, ofAll: Bool = false) -> String? {
            guard number > 0 else { return nil }
            let text = number == 1 ? "1 \(one)" : "\(QuantityText.grouped(number)) \(many)"
            return (!ofAll ? first : isExact ? "" : "At least ") + text
        }
        let dependents = sample.reduce(0) { $0 + $1.links.dependentCount }
        let groups = sample.count(where: \.isGroup)
        let unique = sample.count { $0.uniqueKey != nil && $0.state.isTerminal } - busy
        let running = sample.count { $0.state == .executing }
        let paused = shares.filter(\.isPaused).reduce(0) { $0 + $1.count }
        let unserved = shares.filter { !$0.isPaused && !$0.hasWorker }.reduce(0) { $0 + $1.count }
        let after: String? =
            switch kind {
            case .cancel:
                sentence(
                    dependents,
                    "operation depends on one of these: it is cancelled too, unless its policy says otherwise.",
                    "operations depend on these: they are cancelled too, unless their policy says otherwise."
                )
            case .remove:
                sentence(
                    dependents,
                    "operation depends on one of these, and is treated as if that was cancelled.",
                    "operations depend on these, and are treated as if these were cancelled."
                )
            case .hold:
                sentence(dependents, "dependent waits longer.", "dependents wait longer.")
            case .retry, .release: nil
            }
        let members: String? =
            [.cancel, .retry].contains(kind)
            ? sentence(groups, "is a group: its members follow.", "are groups: their members follow.") : nil
        let keys: String? =
            kind == .retry
            ? sentence(
                unique,
                "has a unique key that is free now, and is refused if another operation has the key then.",
                "have unique keys that are free now, and are refused if other operations have the keys then."
            ) : nil
        let starts = [.retry, .release].contains(kind)
        let pauses: String? =
            starts
            ? sentence(
                paused,
                "is in a paused queue and will wait.",
                "are in paused queues and will wait.",
                ofAll: true
            )
            : nil
        let workers: String? =
            starts
            ? sentence(
                unserved,
                "is in a queue of which no live worker takes work, and will wait.",
                "are in queues of which no live worker takes work, and will wait.",
                ofAll: true
            ) : nil
        let asked: String? =
            kind == .cancel
            ? sentence(running, "runs: its worker is asked to stop.", "run: their workers are asked to stop.") : nil
        return [after, members, keys, pauses, workers, asked].compactMap { $0 }
    }
}
