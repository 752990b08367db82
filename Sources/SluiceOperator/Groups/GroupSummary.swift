import Operations
import Selectors
import TerminalText

/// A group and its progress.
package struct GroupSummary: Sendable {
    package let detail: OperationDetail
    package let progress: GroupProgress
    package let terms: GroupTerms

    package var id: OperationID { detail.id }
    package var queue: String { detail.queue }

    /// nil if the operation is not a group.
    package init?(_ detail: OperationDetail) {
        guard let progress = GroupProgress(detail), let terms = detail.links.group else { return nil }
        (self.detail, self.progress, self.terms) = (detail, progress, terms)
    }

    /// The query for groups. The result contains the groups of runs.
    ///
    /// - Parameters:
    ///   - includesEnded: whether also groups that have ended are found.
    ///   - queue: the queue of the groups; nil = all queues.
    package static func query(includesEnded: Bool, queue: String?) -> OperationQuery {
        let states: [OperationState] = [.blocked] + (includesEnded ? OperationState.allCases.filter(\.isTerminal) : [])
        func term(_ field: OperationQuery.Field, _ text: String) -> OperationQuery.Term {
            OperationQuery.Term(field: field, condition: .texts([TextPattern(exactly: text)]))
        }
        return OperationQuery(
            terms: [.states(states), term(.name, GroupTerms.name)] + (queue.map { [term(.queue, $0)] } ?? [])
        )
    }

    /// The name that the group was opened with; "sluice.group" if the name is encrypted and no key can read it.
    package func name(_ view: PayloadView) -> String {
        detail.groupName(view) ?? GroupTerms.name
    }

    /// `open`, `closed`, `cancelling`, or the state of an ended group such as `finished`.
    package var stateText: String {
        if detail.state.isTerminal { return detail.state.rawValue }
        if detail.cancel != nil { return "cancelling" }
        return progress.isOpen ? "open" : "closed"
    }

    /// `███████░░░ 14/20`
    package func bar(_ style: Style) -> String {
        let bar = QuantityText.bar(progress.fraction, ascii: style.usesASCII)
        return "\(bar) \(QuantityText.grouped(progress.ended))/\(QuantityText.grouped(progress.total))"
    }

    /// The reason why a verb does not apply to a group, as a message that follows the group's id.
    package static func refusal(of verb: String, _ id: OperationID) -> String {
        "is a group: \(verb) its members: \(Program.name) \(verb) -w group:\(id)"
    }

    /// The reason why a verb does not apply to a callback. A released callback would run as if the group's event had
    /// happened. A retried callback would never start if that event can no longer happen.
    package static func refusal(ofCallback detail: OperationDetail, _ need: OperationNeeds.Need) -> String {
        let group = need.dependency.name
        let what = need.policy == .death ? "the first death in group \(group)" : "the success of group \(group)"
        guard detail.state == .blocked else {
            return "depends on \(what), which can no longer happen; enqueue it again: "
                + "\(Program.name) rerun \(detail.id)"
        }
        let way = need.policy == .death ? "cancel \(detail.id)" : "retry \(group)"
        return "waits for \(what): \(Program.name) \(way)"
    }
}

/// A group as JSON: `docs/schema/group.json`.
package enum GroupJSON {
    package static func object(_ group: GroupSummary, _ view: PayloadView) -> JSONValue {
        .object(JSONObject(fields(group, view)))
    }

    package static func fields(_ group: GroupSummary, _ view: PayloadView) -> [(String, JSONValue)] {
        let (detail, progress) = (group.detail, group.progress)
        return [
            ("v", 1),
            ("id", .string(group.id.description)),
            ("queue", .string(group.queue)),
            ("name", .string(group.name(view))),
            ("state", .string(detail.state.rawValue)),
            ("isOpen", .bool(progress.isOpen)),
            ("total", .number(progress.total)),
            ("ended", .number(progress.ended)),
            ("finished", .number(progress.finished)),
            ("failed", .number(progress.failed)),
            ("fraction", JSONValue(progress.fraction)),
            ("ifAbandoned", .string(group.terms.ifAbandoned.rawValue)),
            ("leaseSeconds", JSONValue(Double(group.terms.leaseMilliseconds) / 1000)),
            ("tags", .array(detail.envelope.tags.map { .string($0) })),
            ("openedAt", OperationJSON.time(detail.record.enqueuedAt)),
            ("expiresAt", OperationJSON.time(detail.record.header.expiresAt)),
            ("endedAt", OperationJSON.time(detail.record.endedAt)),
            ("cancel", OperationJSON.cancel(detail.cancel)),
        ]
    }
}

extension GroupSummary {
    package static func report(_ groups: [GroupSummary], _ view: PayloadView) -> RowReport<GroupSummary> {
        RowReport(
            groups,
            [
                .id("ID") { $0.id },
                .text("NAME", minimum: 8) { $0.name(view) },
                .text("QUEUE", drop: 2) { $0.queue },
                ReportColumn(
                    TableColumn("STATE"),
                    csv: "STATE",
                    value: { .string($0.stateText) },
                    cell: { group, _ in TableCell(group.stateText, group.detail.state.role) }
                ),
                .shown(TableColumn("MEMBERS", minimumWidth: 14)) { group, view in TableCell(group.bar(view.style)) },
                .data(nil, csv: "MEMBERS") { .number($0.progress.total) },
                .data(nil, csv: "ENDED") { .number($0.progress.ended) },
                .count("FAILED", drop: 1) { Int64($0.progress.failed) },
                .time("OPENED", drop: 3) { $0.detail.record.enqueuedAt },
            ]
        ) { GroupJSON.object($0, view) }
    }
}
