import Operations
import Selectors
import SluiceOperator

/// The sort key of the operations screen. The key `s` switches to the next one.
package enum OperationsSort: String, Sendable, CaseIterable {
    case time, name, queue, attempts, priority
}

/// The operations screen.
package struct OperationsPane: Sendable {
    /// The states in the order of the Tab key: the first ones need attention most often; nil = all.
    static let states: [OperationState?] = [
        .executing, .retrying, .dead, .ready, .scheduled, .blocked, .finished, .cancelled, .expired, nil,
    ]
    /// The most pages that are read again at each interval.
    static let mostPages = 50
    /// The most rows that stay greyed after they have left the list.
    private static let mostLeaving = 20

    package private(set) var request = OperationsRequest(state: .executing)
    /// The filter as it was typed.
    private(set) var filterText = ""
    /// The result of the last read; nil = this request was not read yet.
    private(set) var reading: OperationsReading?
    /// The rows in their order; nil until they are read.
    private(set) var rows: [OperationDetail]?
    /// Rows that have just left the list, shown greyed until the next read.
    private(set) var leaving: Set<OperationAddress> = []
    private(set) var sort = OperationsSort.time
    private(set) var isReversed = false
    private(set) var marks: Set<OperationAddress> = []
    /// Whether a change is for all matching operations, including those not read.
    private(set) var marksAll = false

    package var state: OperationState? { request.state }

    /// Whether rows of several states are shown.
    var hasManyStates: Bool { request.query.states.count != 1 }

    func row(_ address: OperationAddress) -> OperationDetail? { rows?.first { $0.address == address } }

    func isMarked(_ address: OperationAddress) -> Bool { marksAll || marks.contains(address) }
}

// MARK: - Reading

extension OperationsPane {
    /// Shows another state. Its rows are not read yet.
    mutating func step(by distance: Int) {
        let count = Self.states.count
        let index = Self.states.firstIndex(of: state) ?? 0
        ask(OperationsRequest(state: Self.states[(index + distance + count) % count], filter: request.filter))
    }

    /// Shows one state.
    mutating func choose(_ state: OperationState?) { ask(OperationsRequest(state: state, filter: request.filter)) }

    /// Shows the operations that match a filter, in all states unless the filter names some. An empty text removes the
    /// filter.
    ///
    /// - Throws: `QueryError`, which names the wrong word.
    mutating func filter(_ text: String) throws(QueryError) {
        let query = try OperationQuery(parsing: text)
        let isEmpty = query.terms.isEmpty
        filterText = isEmpty ? "" : text
        ask(OperationsRequest(state: isEmpty ? state ?? .executing : nil, filter: isEmpty ? nil : query))
    }

    private mutating func ask(_ new: OperationsRequest) {
        guard !new.isSameList(as: request) else { return }
        request = new
        (rows, reading, leaving) = (nil, nil, [])
        unmark()
    }

    /// Asks for one more page.
    ///
    /// - Returns: false if no page is left, or if the most pages are shown.
    mutating func readMore() -> Bool {
        guard reading?.hasMore == true, request.pages < Self.mostPages else { return false }
        request.pages += 1
        return true
    }

    /// Takes rows. Rows of another request came too late and are dropped.
    mutating func update(_ new: OperationsReading) {
        guard new.request.isSameList(as: request) else { return }
        let present = Set(new.operations.map(\.address))
        let gone = (rows ?? []).filter { !present.contains($0.address) && !leaving.contains($0.address) }
        let shown = gone.prefix(Self.mostLeaving)
        leaving = Set(shown.map(\.address))
        reading = new
        rows = sorted(new.operations + shown)
    }
}

// MARK: - Order

extension OperationsPane {
    mutating func sortByNext() {
        let all = OperationsSort.allCases
        sort = all[((all.firstIndex(of: sort) ?? 0) + 1) % all.count]
        rows = rows.map(sorted)
    }

    mutating func reverse() {
        isReversed.toggle()
        rows = rows.map(sorted)
    }

    /// Sorts operations. Equal ones are sorted by id, so that no row jumps between reads.
    private func sorted(_ operations: [OperationDetail]) -> [OperationDetail] {
        let keyed = operations.map { (key: SortKey($0, sort), operation: $0) }
        let ordered = keyed.sorted { $0.key < $1.key }.map(\.operation)
        // The natural order: newest, most attempts and highest priority first, names from A.
        let isDescending = [.time, .attempts, .priority].contains(sort)
        return isDescending != isReversed ? ordered.reversed() : ordered
    }
}

private struct SortKey: Comparable {
    let text: String
    let number: Int64
    let id: OperationID

    init(_ operation: OperationDetail, _ sort: OperationsSort) {
        id = operation.record.header.id
        switch sort {
        case .time: (text, number) = ("", operation.orderTime)
        case .name: (text, number) = (operation.displayName, 0)
        case .queue: (text, number) = (operation.queue, 0)
        case .attempts: (text, number) = ("", Int64(operation.record.attempt))
        case .priority: (text, number) = ("", operation.record.header.priority.rank)
        }
    }

    static func < (left: Self, right: Self) -> Bool {
        (left.text, left.number, left.id) < (right.text, right.number, right.id)
    }
}

extension OperationPriority {
    fileprivate var rank: Int64 { Int64(Self.allCases.sorted().firstIndex(of: self) ?? 0) }
}

extension OperationDetail {
    var address: OperationAddress { OperationAddress(queue: queue, id: record.header.id) }

    /// The time of the end, the start, or the enqueue, depending on the state.
    fileprivate var orderTime: Int64 {
        if state.isTerminal { return record.endedAt }
        return state == .executing ? record.startedAt : record.enqueuedAt
    }
}

// MARK: - Marks

extension OperationsPane {
    mutating func toggleMark(_ address: OperationAddress) {
        if marksAll {
            marksAll = false
            marks = Set((rows ?? []).map(\.address))
        }
        if marks.remove(address) == nil { marks.insert(address) }
    }

    /// Marks all matching operations, including those not read.
    mutating func markAll() {
        marksAll = true
        marks = []
    }

    mutating func unmark() {
        marksAll = false
        marks = []
    }

    /// The target for a change of the marked operations; nil = none is marked.
    var target: BulkTarget? {
        if marksAll { return .matching(request.query) }
        return marks.isEmpty ? nil : .marked(marks.sorted { ($0.queue, $0.id) < ($1.queue, $1.id) })
    }
}
