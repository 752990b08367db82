import EmbeddedRedis
import Operations
import Sluice
import SluiceMonitor
import SluiceOperator

/// Reads values for completions, within a short time limit.
struct CompletionValues: Sendable {
    /// The time limit for a person who presses Tab, unless `--connect-timeout` sets another one.
    private static let patience: Duration = .milliseconds(150)
    /// The number of newest operations to read for each state.
    private static let newest = 50

    let invocation: Invocation

    /// Returns the values, or an empty list if Redis does not answer in time. Starts no server.
    func read(_ kind: Completer.Dynamic) async -> [Completer.Candidate] {
        var settings = invocation.settings
        let patience: Duration
        if case .flag = settings.connectTimeout.origin {
            patience = settings.connectTimeout.content
        } else {
            patience = min(Self.patience, settings.connectTimeout.content)
        }
        settings.connectTimeout.content = patience
        if settings.redis.content == nil, (try? Connector.embeddedRedis(settings).status()) == nil { return [] }
        let quick = invocation.with(settings)
        let (stream, answer) = AsyncStream<[Completer.Candidate]>.makeStream()
        Task {
            answer.yield((try? await Self.values(kind, quick.connect())) ?? [])
        }
        Task {
            try? await Task.sleep(for: patience)
            answer.yield([])
        }
        for await candidates in stream { return candidates }
        return []
    }

    private static func values(_ kind: Completer.Dynamic, _ client: SluiceClient) async throws -> [Completer.Candidate]
    {
        switch kind {
        case .queues: return try await client.queues().map { Completer.Candidate(text: $0) }
        case .workers:
            return named(WorkerSummary.merge(try await client.snapshot(executingRows: 0).queues))
        case .hosts:
            let workers = WorkerSummary.merge(try await client.snapshot(executingRows: 0).queues)
            return unique(workers.compactMap { $0.info?.host })
        case .cancels:
            var cancels: [Completer.Candidate] = []
            for queue in try await client.queues() {
                cancels += try await client.broker.standingCancels(queue: queue).cancels.map {
                    Completer.Candidate(text: "\(queue)/\($0.id)", note: $0.query)
                }
            }
            return cancels
        case .names:
            let handled = try await client.snapshot(executingRows: 0).queues.flatMap(\.workers)
                .flatMap { WorkerInfo($0.info)?.handles ?? [] }
            return unique(try await handled + operations(client).map(\.envelope.name))
        case .tags: return unique(try await operations(client).flatMap(\.envelope.tags))
        case .schedules: return unique(try await client.schedules.all().map(\.id))
        case .groups:
            return try await operations(client).compactMap { GroupSummary($0) }
                .filter { !$0.detail.state.isTerminal && !$0.terms.isOfRun }
                .map {
                    Completer.Candidate(text: $0.id.description, note: "\($0.stateText) \($0.name(PayloadView()))")
                }
        case .ids:
            return try await operations(client).map {
                Completer.Candidate(text: $0.id.description, note: "\($0.state.rawValue) \($0.envelope.name)")
            }
        }
    }

    /// The workers by name, or by id if several workers share the name or the name is not a plain word.
    static func named(_ workers: [WorkerSummary]) -> [Completer.Candidate] {
        let counts = Dictionary(grouping: workers, by: \.label).mapValues(\.count)
        return workers.map { worker in
            let named = Completer.Candidate(text: worker.label, note: worker.phase)
            guard counts[worker.label] == 1, named.isPlainWord else {
                return Completer.Candidate(text: worker.id, note: "\(worker.label) \(worker.phase)")
            }
            return named
        }
    }

    /// The newest operations of each state.
    private static func operations(_ client: SluiceClient) async throws -> [OperationDetail] {
        let snapshot = try await client.snapshot(executingRows: 0)
        return try await withThrowingTaskGroup(of: [OperationDetail].self) { group in
            for queue in snapshot.queues {
                for (state, count) in queue.counts where count > 0 {
                    group.addTask {
                        try await client.broker.page(state: state, queue: queue.queue, cursor: nil, limit: newest)
                            .operations
                    }
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }.sorted { $0.id > $1.id }
        }
    }

    private static func unique(_ texts: [String]) -> [Completer.Candidate] {
        Set(texts).sorted().map { Completer.Candidate(text: $0) }
    }
}
