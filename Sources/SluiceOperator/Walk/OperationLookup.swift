import Operations
import Selectors

/// Finds operations by id, by the end of an id, or by the text of an `--id`.
package struct OperationLookup: Sendable {
    package enum Finding: Sendable, Equatable {
        case found(OperationAddress)
        case notFound
        /// Several operations have ids with this end.
        case ambiguous([OperationAddress])
    }

    /// The number of operations to search in each long place for the end of an id.
    package static let newest = 10_000
    package let broker: any MonitorBroker
    /// The most executing, due, blocked or dead operations of a queue to search for the end of an id; nil = all.
    private let most: Int?

    package init(_ broker: any MonitorBroker, most: Int? = nil) { (self.broker, self.most) = (broker, most) }

    /// Finds references, in order. `QUEUE/ID` with a full id needs no search.
    package func find(_ references: [IDReference]) async throws -> [Finding] {
        let taken = references.map(\.location)
        if !taken.contains(nil) { return taken.map { .found($0!) } }
        let queues = try await broker.queues()
        let meanings = references.map { $0.location == nil ? $0.meanings : [] }
        let away = try await broker.absentNodes(of: queues).flatMap(\.queues)
        var places = try await look(for: meanings, in: queues.filter { !away.contains($0) })
        // An operation that no answering node has may be on another node. The search waits for that node, and fails.
        let open = meanings.filter { !$0.isEmpty && !$0.contains { places[$0] != nil } }
        if !away.isEmpty, !open.isEmpty { places.merge(try await look(for: open, in: away)) { $0.union($1) } }
        return zip(taken, meanings).map { location, meanings in
            location.map { .found($0) } ?? Finding(meanings.lazy.compactMap { places[$0] }.first ?? [])
        }
    }

    /// Finds the possible meanings of references. Ends of ids are searched only if no full id is found.
    private func look(for meanings: [[IDReference]], in queues: [String]) async throws -> [IDReference: Set<
        OperationAddress
    >] {
        var places = try await findRecords(Set(meanings.joined()).filter { $0.id != nil }, queues: queues)
        let open = meanings.filter { !$0.contains { places[$0] != nil } }.joined().filter { $0.id == nil }
        if !open.isEmpty { places.merge(try await findSuffixes(Set(open), queues: queues)) { $0.union($1) } }
        return places
    }

    /// Searches all queues at once for records. Several queues may have the same id.
    package func findRecords(
        _ references: Set<IDReference>,
        queues: [String]
    ) async throws -> [IDReference: Set<OperationAddress>] {
        try await withThrowingTaskGroup { group in
            for queue in queues {
                let wanted = Dictionary(grouping: references.filter { $0.queue == nil || $0.queue == queue }) { $0.id! }
                if wanted.isEmpty { continue }
                group.addTask {
                    let known = try await broker.known(Array(wanted.keys), queue: queue)
                    return known.flatMap { id in (wanted[id] ?? []).map { ($0, OperationAddress(queue: queue, id: id)) }
                    }
                }
            }
            return try await group.reduce(into: [:]) { places, found in
                for (reference, location) in found { places[reference, default: []].insert(location) }
            }
        }
    }
}

extension OperationLookup.Finding {
    fileprivate init(_ places: Set<OperationAddress>) {
        if places.count > 1 {
            self = .ambiguous(places.sorted { ($0.id, $0.queue) < ($1.id, $1.queue) })
        } else {
            self = places.first.map { .found($0) } ?? .notFound
        }
    }
}

extension IDReference {
    /// The address of a full id with its queue, which needs no search.
    fileprivate var location: OperationAddress? {
        guard let queue, case .full(let id) = part else { return nil }
        return OperationAddress(queue: queue, id: id)
    }
}

// MARK: - Suffixes

extension OperationLookup {
    private func findSuffixes(
        _ references: Set<IDReference>,
        queues: [String]
    ) async throws -> [IDReference: Set<OperationAddress>] {
        try await withThrowingTaskGroup { group in
            for queue in queues {
                let wanted = references.filter { $0.queue == nil || $0.queue == queue }
                if wanted.isEmpty { continue }
                group.addTask { try await matches(of: wanted, in: queue) }
            }
            return try await group.reduce(into: [:]) { all, found in
                all.merge(found) { $0.union($1) }
            }
        }
    }

    private func matches(of references: Set<IDReference>, in queue: String) async throws -> [IDReference: Set<
        OperationAddress
    >] {
        var found: [IDReference: Set<OperationAddress>] = [:]
        let match = { (id: OperationID) in
            for reference in references where reference.isName(of: id, queue: queue) {
                found[reference, default: []].insert(OperationAddress(queue: queue, id: id))
            }
        }
        let snapshot = try await broker.snapshot(queue: queue, executingRows: 0)
        for state in OperationState.allCases where (snapshot.counts[state] ?? 0) > 0 {
            let isShort = [.executing, .scheduled, .retrying, .blocked, .dead].contains(state)
            let limit: Int? = isShort ? most : Self.newest
            try await walk(state, queue: queue, limit: limit) { match($0.id) }
        }
        return found
    }

    private func walk(
        _ state: OperationState,
        queue: String,
        limit: Int?,
        _ body: (OperationDetail) -> Void
    ) async throws {
        var cursor: String?
        var seen = 0
        repeat {
            let page = try await broker.page(state: state, queue: queue, cursor: cursor, limit: SluiceDefaults.batch)
            page.operations.forEach(body)
            seen += page.operations.count
            cursor = page.cursor
        } while cursor != nil && seen < limit ?? .max
    }
}

extension MonitorBroker {
    /// Returns the ids that have a record. Splits any number of ids into calls of a bounded size.
    package func known(_ ids: [OperationID], queue: String) async throws -> [OperationID] {
        var known: [OperationID] = []
        for start in stride(from: 0, to: ids.count, by: SluiceDefaults.batch) {
            let details = try await details(
                Array(ids[start..<min(start + SluiceDefaults.batch, ids.count)]),
                queue: queue
            )
            known += details.compactMap { $0?.id }
        }
        return known
    }
}
