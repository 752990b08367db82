import Operations
import Selectors

/// A request of the operations screen.
package struct OperationsRequest: Sendable, Equatable {
    /// The chosen state; nil = all states.
    package var state: OperationState?
    /// The filter; nil = none.
    package var filter: OperationQuery?
    /// The number of pages to read, 1 or more.
    package var pages = 1

    package init(state: OperationState?, filter: OperationQuery? = nil, pages: Int = 1) {
        self.state = state
        self.filter = filter
        self.pages = pages
    }

    /// Whether the filter names states, which then replace the chosen one.
    package var filterHasStates: Bool { filter?.terms.contains { $0.field == .state } ?? false }

    /// The filter together with the chosen state.
    package var query: OperationQuery {
        var query = filter ?? OperationQuery()
        if let state, !filterHasStates { query.terms.append(.states([state])) }
        return query
    }

    /// Whether the other request is for the same list, with any number of pages.
    package func isSameList(as other: Self) -> Bool { state == other.state && filter == other.filter }
}

/// The newest operations for a request.
package struct OperationsReading: Sendable {
    package var request: OperationsRequest
    package var operations: [OperationDetail]
    /// The number of operations examined.
    package var scanned: Int
    /// The number of operations in the searched places.
    package var total: Int
    /// The number of operations that could not be compared with the filter, because they are encrypted and no key is
    /// set.
    package var unread = 0
    /// Whether more operations can be examined.
    package var hasMore: Bool
    /// Sentences about queues and groups of the filter that do not exist.
    package var unknown: [String] = []

    package init(
        _ request: OperationsRequest,
        _ operations: [OperationDetail],
        scanned: Int? = nil,
        total: Int? = nil,
        hasMore: Bool = false
    ) {
        self.request = request
        self.operations = operations
        self.scanned = scanned ?? operations.count
        self.total = total ?? operations.count
        self.hasMore = hasMore
    }
}

/// Reads the pages of a request: the newest operations of each state's place in each queue, merged.
package struct OperationsScan: Sendable {
    /// The number of operations in one page, over all places.
    package static let page = 200
    /// With a filter, a page examines at most this many times the size of a page.
    private static let patience = 10
    private static let leastOfAPlace = 5

    private struct Part: Sendable {
        var found: [OperationDetail] = []
        var scanned = 0
        var unread = 0
        var hasMore = false
    }

    package let broker: any MonitorBroker
    package let snapshot: NamespaceSnapshot
    /// The keys that read arguments.
    package let view: PayloadView
    /// The resolved query, shared by all passes: the end of an id is searched for in whole queues.
    package let memory: QueryMemory

    package init(
        broker: any MonitorBroker,
        snapshot: NamespaceSnapshot,
        view: PayloadView,
        memory: QueryMemory = QueryMemory()
    ) {
        (self.broker, self.snapshot, self.view, self.memory) = (broker, snapshot, view, memory)
    }

    package func run(_ request: OperationsRequest) async throws -> OperationsReading {
        let query: OperationQuery
        do { query = try await memory.resolved(request.query, by: broker, snapshot) } catch let error as LookupFailure {
            var reading = OperationsReading(request, [])
            reading.unknown = [error.description]
            return reading
        }
        let known = snapshot.queues.map(\.queue)
        let meant = Set(query.queues(of: known))
        if let names = query.named {
            return try await read(request, query, names.filter { meant.contains($0.queue ?? "") })
        }
        let queues = snapshot.queues.filter { meant.contains($0.queue) }
        let places = query.states.flatMap { state in
            queues.filter { ($0.counts[state] ?? 0) > 0 }.map { (state: state, queue: $0) }
        }
        let total = places.reduce(0) { $0 + ($1.queue.counts[$1.state] ?? 0) }
        let share = max(Self.leastOfAPlace, Self.page / max(1, places.count)) * request.pages
        let limit = total <= Self.page * request.pages ? Self.page * request.pages : share
        let parts = try await withThrowingTaskGroup(of: Part.self) { group in
            for place in places {
                group.addTask {
                    try await read(place.state, place.queue.queue, query, limit: limit, now: place.queue.time)
                }
            }
            return try await group.reduce(into: [Part]()) { $0.append($1) }
        }
        var reading = OperationsReading(
            request,
            parts.flatMap(\.found),
            scanned: parts.reduce(0) { $0 + $1.scanned },
            total: total,
            hasMore: parts.contains(where: \.hasMore)
        )
        reading.unread = parts.reduce(0) { $0 + $1.unread }
        reading.unknown = query.unknownQueues(of: known)
        return reading
    }

    /// Reads operations by their ids, without a search, newest ids first.
    private func read(
        _ request: OperationsRequest,
        _ query: OperationQuery,
        _ names: Set<DependencyName>
    ) async throws -> OperationsReading {
        let now = snapshot.time ?? 0
        let read = Set(names.sorted { $0.id > $1.id }.prefix(Self.page * Self.patience * request.pages))
        let queues = snapshot.queues.map(\.queue)
        let all = try await broker.matches(of: query, among: read, queues: queues, now: now, view: view)
        let hasMore = read.count < names.count
        var reading = OperationsReading(
            request,
            all.found,
            scanned: all.scanned,
            total: names.count,
            hasMore: hasMore
        )
        reading.unread = all.unread
        return reading
    }

    /// - Parameter limit: the most operations to find in the place.
    private func read(
        _ state: OperationState,
        _ queue: String,
        _ query: OperationQuery,
        limit: Int,
        now: Int64
    ) async throws -> Part {
        var part = Part()
        var cursor: String?
        let sought = query.sought(view)
        let most = query.filtersRows ? Self.patience * limit : limit
        repeat {
            let page = try await broker.page(
                state: state,
                queue: queue,
                cursor: cursor,
                limit: min(OperationPage.limit(sought), most - part.scanned),
                sought: sought
            )
            cursor = page.cursor
            part.scanned += page.leftOut
            for operation in page.operations {
                part.scanned += 1
                switch query.match(operation, now: now, view: view) {
                case .yes: part.found.append(operation)
                case .unread: part.unread += 1
                case .no where query.endsWalk(at: operation, now: now): return part
                case .no: break
                }
            }
        } while cursor != nil && part.scanned < most && part.found.count < limit
        part.hasMore = cursor != nil
        return part
    }
}
