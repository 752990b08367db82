import Operations
import Selectors
import TerminalText

/// Operations whose last errors have the same signature.
package struct ErrorGroup: Sendable {
    /// The largest number of names and queues to keep for a group.
    private static let named = 10

    package let signature: String
    package let type: String
    package private(set) var count = 0
    package private(set) var dead = 0
    package private(set) var retrying = 0
    /// The time of the first failure with this signature, also of an earlier attempt, in milliseconds of server time.
    package private(set) var first: Int64 = .max
    package private(set) var last: Int64 = 0
    /// The operation with the latest failure, and its error.
    package private(set) var sample: (id: OperationID, queue: String, message: String)?
    /// Whether the errors have one signature. Further signatures share one group.
    package var isOne: Bool { signature != ErrorGroups.other }
    package private(set) var names: Set<String> = []
    package private(set) var queues: Set<String> = []

    /// - Parameter first: the time of the operation's first failed attempt with this signature.
    fileprivate mutating func add(
        _ detail: OperationDetail,
        _ failure: OperationFailure,
        at time: Int64,
        first: Int64
    ) {
        count += 1
        if detail.state == .dead { dead += 1 }
        if detail.state == .retrying { retrying += 1 }
        self.first = min(self.first, first)
        if time >= last { sample = (detail.id, detail.queue, failure.message) }
        last = max(last, time)
        if names.count < Self.named { names.insert(detail.envelope.name) }
        if queues.count < Self.named { queues.insert(detail.queue) }
    }
}

/// Groups of errors, limited in number.
package struct ErrorGroups: Sendable {
    /// The number of groups after which further signatures are counted in one group.
    private static let most = 1_000
    fileprivate static let other = "other errors"

    private var groups: [String: ErrorGroup] = [:]
    /// The number of operations with an error.
    package private(set) var operations = 0

    package init() {}

    package mutating func add(_ details: [OperationDetail]) {
        for detail in details {
            guard let attempt = detail.errors.last else { continue }
            let failure = attempt.failure
            operations += 1
            var signature = Self.signature(failure)
            let first = detail.errors.dropLast().first { Self.signature($0.failure) == signature } ?? attempt
            if groups[signature] == nil, groups.count >= Self.most { signature = Self.other }
            let type = signature == Self.other ? "" : failure.type
            groups[signature, default: ErrorGroup(signature: signature, type: type)]
                .add(detail, failure, at: attempt.at, first: first.at)
        }
    }

    private static func signature(_ failure: OperationFailure) -> String {
        ErrorSignature.of(type: failure.type, message: failure.message)
    }

    /// The largest groups first; among equal ones, the latest failure first.
    package var sorted: [ErrorGroup] {
        groups.values.sorted { ($0.count, $0.last, $1.signature) > ($1.count, $1.last, $0.signature) }
    }
}

extension ErrorGroups {
    /// The object that `docs/schema/errors.json` describes.
    ///
    /// - Parameter shown: the JSON of the groups to list.
    package func json(_ shown: [JSONValue], _ result: ListWalk.Result) -> JSONValue {
        [
            "v": 1,
            "operations": .number(operations),
            "signatures": .number(groups.count),
            "scanned": .number(result.scanned),
            "total": JSONValue(result.total),
            "unread": .number(result.unread),
            "isComplete": .bool(!result.isCutShort),
            "groups": .array(shown),
            "absentNodes": AbsentNode.json(result.absent),
        ]
    }
}

extension RowReport<ErrorGroup> {
    /// The fields of `docs/schema/errors.json`.
    package init(_ groups: [ErrorGroup]) {
        self.init(
            groups,
            [
                .data("type") { .string($0.type) },
                .count("COUNT", field: "count") { Int64($0.count) },
                .count("DEAD", field: "dead", drop: 3) { Int64($0.dead) },
                .count("RETRYING", field: "retrying", drop: 3) { Int64($0.retrying) },
                .time("FIRST", field: "first", drop: 2) { $0.first },
                .time("LAST", field: "last", drop: 1) { $0.last },
                .id("SAMPLE", field: "sample") { $0.sample?.id },
                .data("message") { JSONValue($0.sample?.message) },
                .shown(TableColumn("NAME", dropPriority: 2)) { group, _ in TableCell(group.nameText) },
                .data("names", csv: "NAMES") { .array($0.names.sorted().map { .string($0) }) },
                .data("queues", csv: "QUEUES") { .array($0.queues.sorted().map { .string($0) }) },
                .text("ERROR", field: "signature", csv: "SIGNATURE", minimum: 20) { $0.signature },
            ]
        )
    }
}

extension ErrorGroup {
    /// `SendMail +2`
    fileprivate var nameText: String {
        (names.sorted().first ?? "-") + (names.count > 1 ? " +\(names.count - 1)" : "")
    }
}
