import Operations
import Sluice
import SluiceMonitor
import SluiceOperator
import TerminalText

/// A group and its progress.
package struct GroupSummary: Sendable {
    let detail: OperationDetail
    let progress: GroupProgress
    let terms: GroupTerms

    var id: OperationID { detail.id }
    var queue: String { detail.queue }

    /// nil if the operation is not a group.
    init?(_ detail: OperationDetail) {
        guard let progress = GroupProgress(detail), let terms = detail.links.group else { return nil }
        (self.detail, self.progress, self.terms) = (detail, progress, terms)
    }

    /// The name that the group was opened with; "sluice.group" if the name is encrypted and no key can read it.
    func name(_ view: PayloadView) -> String {
        let reading = detail.reading(view)
        guard reading.hiddenArguments == nil, let value = try? JSONValue(parsing: reading.envelope.arguments),
            let name = value["name"]?.stringValue
        else { return GroupTerms.name }
        return name
    }

    /// `open`, `closed`, `cancelling`, or the state of an ended group such as `finished`.
    var stateText: String {
        if detail.state.isTerminal { return detail.state.rawValue }
        if detail.cancel != nil { return "cancelling" }
        return progress.isOpen ? "open" : "closed"
    }

    /// `███████░░░ 14/20`
    func bar(_ style: Style) -> String {
        let bar = QuantityText.bar(progress.fraction, ascii: style.usesASCII)
        return "\(bar) \(QuantityText.grouped(progress.ended))/\(QuantityText.grouped(progress.total))"
    }

    /// The reason why a verb does not apply to a group, as a message that follows the group's id.
    static func refusal(of verb: String, _ id: OperationID) -> String {
        "is a group: \(verb) its members: \(Program.name) \(verb) -w group:\(id)"
    }

    /// The reason why a verb does not apply to a callback. A released callback would run as if the group's event had
    /// happened. A retried callback would never start if that event can no longer happen.
    static func refusal(ofCallback detail: OperationDetail, _ need: OperationNeeds.Need) -> String {
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
enum GroupJSON {
    static func object(_ group: GroupSummary, _ view: PayloadView) -> JSONValue {
        .object(JSONObject(fields(group, view)))
    }

    static func fields(_ group: GroupSummary, _ view: PayloadView) -> [(String, JSONValue)] {
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

/// A table of groups.
struct GroupTable {
    let groups: [GroupSummary]
    let invocation: Invocation

    func print() {
        let (console, style) = (invocation.console, invocation.console.output)
        let length = console.isOutputTerminal ? ShortID.length(for: groups.map(\.id)) : .max
        var table = Table([
            TableColumn("ID", minimumWidth: min(length, OperationID.characterCount) + 1),
            TableColumn("NAME", minimumWidth: 8), TableColumn("QUEUE", dropPriority: 2), TableColumn("STATE"),
            TableColumn("MEMBERS", minimumWidth: 14), TableColumn("FAILED", dropPriority: 1),
            TableColumn("OPENED", dropPriority: 3),
        ])
        for group in groups {
            let time = TimeText.format(
                group.detail.record.enqueuedAt,
                invocation.settings.time.content,
                now: invocation.now
            )
            table.append([
                TableCell(ShortID.text(group.id, length: length, style: style)), TableCell(group.name(invocation.view)),
                TableCell(group.queue), TableCell(group.stateText, group.detail.state.role),
                TableCell(group.bar(style)), TableCell(QuantityText.grouped(group.progress.failed)), TableCell(time),
            ])
        }
        console.print(table, invocation.format, showsHeader: invocation.options.showsHeader)
    }
}

extension Invocation {
    /// Prints a group after a change: as JSON, or as a line.
    func print(_ group: GroupSummary, line: String) {
        switch format {
        case .json, .jsonl: console.print(GroupJSON.object(group, view), format)
        case .id: console.print(group.id.description)
        case .csv: GroupTable(groups: [group], invocation: self).print()
        case .table, .wide: console.print(line)
        }
    }
}
