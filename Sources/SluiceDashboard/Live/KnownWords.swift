import Operations
import Selectors
import SluiceOperator
import Synchronization

/// Names and tags that pages have shown, for suggestions. The newest ones are kept.
final class KnownWords: Sendable {
    private static let most = 500

    private struct Words {
        private var order: [String] = []
        private var known: Set<String> = []

        mutating func add(_ word: String) {
            guard known.insert(word).inserted else { return }
            order.append(word)
            if order.count > KnownWords.most { known.remove(order.removeFirst()) }
        }

        var sorted: [String] { order.sorted() }
    }

    private let names = Mutex(Words())
    private let tags = Mutex(Words())

    func add(_ details: [OperationDetail]) {
        for envelope in details.lazy.map(\.envelope) {
            names.withLock { $0.add(envelope.name) }
            for tag in envelope.tags { tags.withLock { $0.add(tag) } }
        }
    }

    /// The names that were seen, sorted.
    func names(_ board: Board?) -> [String] {
        names.withLock { names in
            for entry in board?.executing ?? [] { names.add(entry.row.name) }
            for name in board?.snapshot.queues.flatMap(\.unhandled) ?? [] { names.add(name.name) }
            return names.sorted
        }
    }

    /// The fields of the query language, and what is known of their values.
    func suggestions(_ board: Board?) -> JSONValue {
        let snapshot = board?.snapshot
        let values: [(OperationQuery.Field, [String])] = [
            (.state, OperationState.allCases.map(\.rawValue)),
            (.priority, OperationPriority.allCases.map(\.rawValue)),
            (.queue, snapshot?.queues.map(\.queue) ?? []),
            (.worker, board?.workers.map(\.label) ?? []),
            (.limitKey, Set(snapshot?.queues.flatMap(\.limitKeys).map(\.key) ?? []).sorted()),
            (.name, names(board)), (.tag, tags.withLock(\.sorted)),
        ]
        return [
            "v": 1,
            "fields": .array(
                OperationQuery.Field.allCases.map { .string($0 == .args ? "args." : "\($0.rawValue):") }
            ),
            "values": .object(
                JSONObject(values.map { ($0.rawValue.lowercased(), .array($1.map { .string($0) })) })
            ),
        ]
    }
}
