import Operations
import Selectors
import Sluice
import SluiceMonitor

/// Finds workers by name: those of the namespace, and those that were lost within 24 h.
struct WorkerLookup: Sendable {
    enum Found: Sendable {
        case present(WorkerSummary)
        case lost(LostSummary)
    }

    private let workers: [WorkerSummary]
    private let lost: [LostSummary]
    /// Cluster nodes that do not answer, whose workers are unknown.
    private let absent: [AbsentNode]

    init(workers: [WorkerSummary], lost: [LostSummary] = [], absent: [AbsentNode] = []) {
        self.workers = workers
        self.lost = lost
        self.absent = absent
    }

    /// Reads the workers, including lost ones.
    init(_ snapshot: NamespaceSnapshot, _ client: SluiceClient) async throws {
        let queues = snapshot.queues.map(\.queue)
        self.init(
            workers: WorkerSummary.merge(snapshot.queues),
            lost: try await client.broker.lostWorkers(queues: queues, limit: Defaults.lostWorkersKept),
            absent: snapshot.absent
        )
    }

    /// Finds a worker by its name, its id, or the end of its id as in tables. A lost worker is found if no other one has the name.
    ///
    /// - Throws: `CLIError` with `.usage` and all candidates if there are several, with `.notFound` if there is none,
    ///   with `.unreachable` if it may be known on a node that does not answer.
    func find(_ text: String) throws(CLIError) -> Found {
        let present = workers.filter { Self.isNamed(text, label: $0.label, id: $0.id) }
        if present.count > 1 { throw Self.ambiguous(text, present.map { "\($0.id) \($0.label), \($0.phase)" }) }
        if let worker = present.first { return .present(worker) }
        let gone = lost.filter { Self.isNamed(text, label: $0.label, id: $0.id) }
        if gone.count > 1 { throw Self.ambiguous(text, gone.map { "\($0.id) \($0.label), lost" }) }
        if let worker = gone.first { return .lost(worker) }
        if let node = absent.first {
            let unknown = "no worker \(OperationsError.quoted(text)) is known on the nodes that answer"
            throw CLIError(.unreachable, unknown, notes: [node.sentence])
        }
        let near = Suggestion.nearest(to: text, among: workers.map(\.label) + lost.map(\.label))
        throw CLIError(
            .notFound,
            "no worker \(OperationsError.quoted(text))" + (near.map { "; did you mean \"\($0)\"?" } ?? ""),
            fix: "\(Program.name) workers ls"
        )
    }

    /// The ids of the workers that a query's value names. An id needs no search, because a snapshot does not list all of many workers.
    func ids(_ value: TextPattern) throws(CLIError) -> [String] {
        guard let text = value.exactText else {
            return workers.filter { value.matches($0.label) || value.matches($0.id) }.map(\.id)
        }
        if let id = OperationID(text) { return [id.description] }
        switch try find(text) {
        case .present(let worker): return [worker.id]
        case .lost(let worker): return [worker.id]
        }
    }

    private static func isNamed(_ text: String, label: String, id: String) -> Bool {
        let end = IDReference.withoutCutMark(text)
        return label == text || (end.count >= IDReference.shortest && id.hasSuffix(end.uppercased()))
    }

    private static func ambiguous(_ text: String, _ candidates: [String]) -> CLIError {
        .init(
            .usage,
            "\(OperationsError.quoted(text)) names \(candidates.count) workers",
            notes: candidates,
            fix: "use the id, or its last \(IDReference.shortest) or more characters"
        )
    }
}

extension OperationQuery {
    /// Replaces names of workers in the query by ids; see `resolve`.
    mutating func resolveWorkers(_ client: SluiceClient) async throws {
        guard terms.contains(where: { $0.field == .worker }) else { return }
        let lookup = try await WorkerLookup(client.snapshot(executingRows: 0), client)
        for index in terms.indices where terms[index].field == .worker {
            guard case .texts(let values) = terms[index].condition else { continue }
            terms[index].condition = .texts(try values.flatMap(lookup.ids).map(TextPattern.init(exactly:)))
        }
    }
}
