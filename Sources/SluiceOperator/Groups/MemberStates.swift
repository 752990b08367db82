import Operations
import TerminalText

/// The states of a group's members.
package struct MemberStates: Sendable {
    /// The largest number of members to read.
    package static let mostRead = 10_000
    /// The largest number of failed members to show.
    package static let shown = 10

    package private(set) var counts: [OperationState: Int] = [:]
    /// Members without a record: removed, or not enqueued yet.
    package private(set) var gone = 0
    /// The first members that have not finished: dead ones first, then the others.
    package private(set) var failed: [OperationDetail] = []
    /// The members that run, and those that ran longest: at most ``timed``.
    package private(set) var longest: [OperationDetail] = []
    package static let timed = 40
    package var read: Int { counts.values.reduce(gone, +) }

    private static let failedStates: [OperationState] = [.dead, .expired, .cancelled]

    /// Reads the members of a group from their queues.
    ///
    /// - Parameter limit: the most members to read.
    package init(of group: GroupSummary, _ broker: any MonitorBroker, limit: Int = Self.mostRead) async throws {
        let names = Array(try await broker.edges(.needs, of: group.id, limit: limit, queue: group.queue).prefix(limit))
        for (queue, members) in Dictionary(grouping: names, by: { $0.queue ?? group.queue }).sorted(by: {
            $0.key < $1.key
        }) {
            for detail in try await broker.allDetails(members.map(\.id), queue: queue) { add(detail) }
        }
        failed.sort { Self.rank($0) < Self.rank($1) }
        failed = Array(failed.prefix(Self.shown))
        keepLongest()
    }

    private mutating func keepLongest() {
        longest.sort { (Self.runTime($0), $1.id) > (Self.runTime($1), $0.id) }
        longest = Array(longest.prefix(Self.timed))
    }

    private static func runTime(_ detail: OperationDetail) -> Int64 {
        detail.state == .executing ? .max : detail.record.endedAt - detail.record.startedAt
    }

    private static func rank(_ detail: OperationDetail) -> (Int, OperationID) {
        (failedStates.firstIndex(of: detail.state) ?? failedStates.count, detail.id)
    }

    private mutating func add(_ detail: OperationDetail?) {
        guard let detail else { return gone += 1 }
        counts[detail.state, default: 0] += 1
        if Self.failedStates.contains(detail.state) { failed.append(detail) }
        let hasRun = detail.state == .executing || detail.state.isTerminal
        guard hasRun, detail.record.startedAt > 0, !detail.isGroup else { return }
        longest.append(detail)
        if longest.count > 10 * Self.timed { keepLongest() }
    }

    /// The states in the order in which they are shown.
    package static let order: [OperationState] = [
        .executing, .retrying, .ready, .scheduled, .blocked, .finished, .dead, .cancelled, .expired,
    ]

    /// `14 finished, 3 executing, 2 dead, 1 gone`
    package var text: String {
        let texts = Self.order.compactMap { state in
            counts[state].map { "\(QuantityText.grouped($0)) \(state.rawValue)" }
        }
        return (texts + (gone > 0 ? ["\(QuantityText.grouped(gone)) gone"] : [])).joined(separator: ", ")
    }

    package var json: [(String, JSONValue)] {
        let states = OperationState.allCases.map { ($0.rawValue, JSONValue.number(counts[$0] ?? 0)) }
        return [
            ("read", .number(read)), ("states", .object(JSONObject(states + [("gone", .number(gone))]))),
            (
                "failedMembers",
                .array(
                    failed.map { detail in
                        [
                            "id": .string(detail.id.description), "queue": .string(detail.queue),
                            "name": .string(detail.envelope.name), "state": .string(detail.state.rawValue),
                            "message": .string(Self.reason(detail)),
                        ]
                    }
                )
            ),
        ]
    }

    /// The reason why a member has not finished.
    package static func reason(_ detail: OperationDetail) -> String {
        switch detail.state {
        case .dead: detail.errors.last?.failure.sentence ?? "no error stored"
        case .cancelled: detail.cancel?.reason ?? ""
        default: ""
        }
    }
}
