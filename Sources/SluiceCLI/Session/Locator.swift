import Operations
import Sluice

/// Where an operation is.
package struct Location: Hashable, Sendable {
    package var queue: String
    package var id: OperationID

    package init(queue: String, id: OperationID) {
        self.queue = queue
        self.id = id
    }
}

/// Finds operations that were named by id or by the end of one.
package struct Locator: Sendable {
    package enum Finding: Sendable, Equatable {
        case found(Location)
        case notFound
        /// Several operations end so.
        case ambiguous([Location])
    }

    /// How many of each long place are looked through for the end of an id.
    package static let newest = 10_000
    package let client: SluiceClient

    package init(_ client: SluiceClient) { self.client = client }

    /// Finds each of the references, in order. A full id behind its queue is taken as it is.
    package func find(_ references: [IDReference]) async throws -> [Finding] {
        let isPlaced: (IDReference) -> Bool = { $0.queue != nil && $0.id != nil }
        if references.allSatisfy(isPlaced) { return references.map { .found(Location(queue: $0.queue!, id: $0.id!)) } }
        let queues = try await client.broker.queues()
        let full = try await findRecords(references.filter { $0.queue == nil }.compactMap(\.id), queues: queues)
        let suffixes = references.filter { $0.id == nil }
        let matches = suffixes.isEmpty ? [:] : try await findSuffixes(suffixes, queues: queues)
        return references.map { reference in
            if let id = reference.id {
                guard let queue = reference.queue ?? full[id] else { return .notFound }
                return .found(Location(queue: queue, id: id))
            }
            let found = matches[reference] ?? []
            if found.count > 1 { return .ambiguous(found.sorted { $0.id < $1.id }) }
            return found.first.map { .found($0) } ?? .notFound
        }
    }

    /// Looks for records in all queues at once.
    private func findRecords(_ ids: [OperationID], queues: [String]) async throws -> [OperationID: String] {
        guard !ids.isEmpty else { return [:] }
        return try await withThrowingTaskGroup { group in
            for queue in queues {
                group.addTask {
                    try await client.broker.allDetails(ids, queue: queue).compactMap { $0.map { ($0.id, queue) } }
                }
            }
            return try await group.reduce(into: [:]) { places, found in
                for (id, queue) in found { places[id] = queue }
            }
        }
    }
}

extension IDReference {
    package var id: OperationID? {
        if case .full(let id) = part { id } else { nil }
    }
}

// MARK: - Suffixes

extension Locator {
    private func findSuffixes(
        _ references: [IDReference],
        queues: [String]
    ) async throws -> [IDReference: Set<Location>] {
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

    private func matches(of references: [IDReference], in queue: String) async throws -> [IDReference: Set<Location>] {
        var found: [IDReference: Set<Location>] = [:]
        let match = { (id: OperationID) in
            for reference in references where reference.part.matches(id) {
                found[reference, default: []].insert(Location(queue: queue, id: id))
            }
        }
        let snapshot = try await client.broker.snapshot(queue: queue, executingRows: Self.newest)
        snapshot.executing.forEach { match($0.header.id) }
        for state in OperationState.allCases where state != .executing && (snapshot.counts[state] ?? 0) > 0 {
            let limit: Int? = [.scheduled, .retrying, .blocked, .dead].contains(state) ? nil : Self.newest
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
            let page = try await client.broker.page(state: state, queue: queue, cursor: cursor, limit: Defaults.batch)
            page.operations.forEach(body)
            seen += page.operations.count
            cursor = page.cursor
        } while cursor != nil && seen < limit ?? .max
    }
}

extension BrokerInspection {
    /// Details of any number of operations, in calls of a bounded size.
    package func allDetails(_ ids: [OperationID], queue: String) async throws -> [OperationDetail?] {
        var all: [OperationDetail?] = []
        for start in stride(from: 0, to: ids.count, by: Defaults.batch) {
            all += try await details(Array(ids[start..<min(start + Defaults.batch, ids.count)]), queue: queue)
        }
        return all
    }
}
