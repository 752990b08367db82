import Operations
import Selectors
import TerminalText

/// Finds workers by name: the workers of the namespace, and those that were lost within 24 h.
package struct WorkerLookup: Sendable {
    package enum Found: Sendable {
        case present(WorkerSummary)
        case lost(LostSummary)
    }

    private let workers: [WorkerSummary]
    private let lost: [LostSummary]
    /// Cluster nodes that do not answer. Their workers are unknown.
    private let absent: [AbsentNode]

    package init(workers: [WorkerSummary], lost: [LostSummary] = [], absent: [AbsentNode] = []) {
        self.workers = workers
        self.lost = lost
        self.absent = absent
    }

    /// Reads the workers, including lost ones.
    package init(_ snapshot: NamespaceSnapshot, _ broker: any MonitorBroker) async throws {
        let queues = snapshot.queues.map(\.queue)
        self.init(
            workers: WorkerSummary.merge(snapshot.queues),
            lost: try await broker.lostWorkers(queues: queues, limit: SluiceDefaults.lostWorkersKept),
            absent: snapshot.absent
        )
    }

    /// Finds a worker by its name, its id, or the end of its id as in tables.
    ///
    /// A lost worker is found only if no present worker matches.
    ///
    /// - Throws: `LookupFailure` with `.ambiguous` and all candidates if several workers match, with `.notFound` if
    ///   none matches, and with `.unreachable` if a node that does not answer may know the worker.
    package func find(_ text: String) throws(LookupFailure) -> Found {
        let present = workers.filter { Self.isNamed(text, label: $0.label, id: $0.id) }
        if present.count > 1 { throw Self.ambiguous(text, present.map { "\($0.id) \($0.label), \($0.phase)" }) }
        if let worker = present.first { return .present(worker) }
        let gone = lost.filter { Self.isNamed(text, label: $0.label, id: $0.id) }
        if gone.count > 1 { throw Self.ambiguous(text, gone.map { "\($0.id) \($0.label), lost" }) }
        if let worker = gone.first { return .lost(worker) }
        if let node = absent.first {
            let unknown = "no worker \(OperationsError.quoted(text)) is known on the nodes that answer"
            throw LookupFailure(.unreachable, unknown, notes: [node.sentence])
        }
        throw unknown(text)
    }

    /// A worker that ended normally leaves only its id, in the operations that it ran.
    private func unknown(_ text: String) -> LookupFailure {
        let kept = "running workers are known, and lost ones for 24 h"
        if let id = OperationID(text) {
            let began = TimeText.rfc3339(Int64(id.milliseconds))
            let message = "worker \(id), started \(began), has ended"
            return LookupFailure(.notFound, message, notes: [kept], fix: .command("workers ls"))
        }
        let near = Suggestion.nearest(to: text, among: workers.map(\.label) + lost.map(\.label))
        return LookupFailure(
            .notFound,
            "no worker \(OperationsError.quoted(text))" + (near.map { "; did you mean \"\($0)\"?" } ?? ""),
            notes: near == nil ? ["it may have ended: \(kept)"] : [],
            fix: .command("workers ls")
        )
    }

    /// Returns the ids of the workers that a query's value names. An id needs no search: a snapshot lists only the
    /// first of many workers.
    package func ids(_ value: TextPattern) throws(LookupFailure) -> [String] {
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
        // A worker's first line has its name and, behind a mark, the end of its id.
        let end = IDReference.withoutCutMark(text.split(separator: " ").last.map(String.init) ?? text)
        return label == text || (end.count >= IDReference.shortest && id.hasSuffix(end.uppercased()))
    }

    private static func ambiguous(_ text: String, _ candidates: [String]) -> LookupFailure {
        LookupFailure(
            .ambiguous,
            "\(OperationsError.quoted(text)) matches \(candidates.count) workers",
            notes: candidates,
            fix: .advice("use the id, or its last \(IDReference.shortest) or more characters")
        )
    }
}
