import ArgumentParser
import Operations
import Selectors
import Sluice
import SluiceMonitor
import SluiceOperator
import TerminalText

package struct ErrorsVerb: Verb {
    package static let formats: Set<OutputFormat> = .all
    package static let effect = VerbEffect.reads

    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "errors",
            abstract: "Group dead and retrying operations by their last error.",
            discussion: """
                EXAMPLES
                  \(Program.name) errors
                  \(Program.name) errors queue:mail 'age:<1h'
                  \(Program.name) errors 'name:Send*' --limit 5 -o json
                  \(Program.name) retry -w 'state:dead error:"timed out"' --dry-run

                Errors that differ only in counts, ids, times, addresses and quoted texts form one group. Codes (HTTP \
                404, exit code 3) and a quoted name after the word that introduces it (column "price", KeyError: \
                'email') keep groups apart. FIRST and LAST are the times of the first and the last failure of a group. \
                A query has the fields of list; with state: it may select other states.
                """
        )
    }

    @Argument(help: ArgumentHelp("Select operations by FIELD:VALUE..", valueName: "query"))
    var query: [String] = []
    @Option(name: .shortAndLong, help: "Select by exactly this tag; may be repeated for any of several tags.")
    var tag: [String] = []
    @Option(help: "Show at most n groups, the largest first (20).")
    var limit = 20
    @OptionGroup var scanLimit: ScanLimit
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func check() throws {
        guard limit > 0 else {
            throw CLIError.usage("--limit is \(limit); expected at least 1", fix: "--limit 20")
        }
        try scanLimit.check()
        _ = try OperationQuery(typed: query, tags: tag)
    }

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        var query = try OperationQuery(typed: query, tags: tag)
        if !query.terms.contains(where: { $0.field == .state }) { query.terms.append(.states([.dead, .retrying])) }
        let client = try await invocation.connectReadingClock()
        try await query.resolve(client)
        var walk = ListWalk(
            client: client,
            query: query,
            view: invocation.view,
            limit: .max,
            scanLimit: scanLimit.count ?? ScanLimit.builtIn,
            leavesOutAbsent: true
        )
        walk.countsAll = true
        var groups = ErrorGroups()
        let result = try await walk.run(from: nil) { groups.add($0) }
        ErrorReport(groups: groups, limit: limit, result: result).print(invocation)
        invocation.console.warn(result.absent)
        result.unknownQueues.forEach(invocation.console.warn)
        return .done
    }
}

/// Operations whose last errors have the same signature.
struct ErrorGroup: Sendable {
    /// The largest number of names and queues to keep for a group.
    static let named = 10

    var signature: String
    var type: String
    var count = 0
    var dead = 0
    var retrying = 0
    /// The time of the first failure, in milliseconds of server time.
    var first: Int64 = .max
    var last: Int64 = 0
    /// The operation with the latest failure, and its error.
    var sample: (id: OperationID, message: String)?
    var names: Set<String> = []
    var queues: Set<String> = []

    mutating func add(_ detail: OperationDetail, _ failure: OperationFailure, at time: Int64) {
        count += 1
        if detail.state == .dead { dead += 1 }
        if detail.state == .retrying { retrying += 1 }
        first = min(first, time)
        if time >= last { sample = (detail.id, failure.message) }
        last = max(last, time)
        if names.count < Self.named { names.insert(detail.envelope.name) }
        if queues.count < Self.named { queues.insert(detail.queue) }
    }
}

/// Groups of errors, limited in number.
struct ErrorGroups: Sendable {
    /// The number of groups after which further signatures are counted in one group.
    private static let most = 1_000
    private static let other = "other errors"

    private var groups: [String: ErrorGroup] = [:]
    /// The number of operations with an error.
    private(set) var operations = 0

    init() {}

    mutating func add(_ details: [OperationDetail]) {
        for detail in details {
            guard let attempt = detail.errors.last else { continue }
            let failure = attempt.failure
            operations += 1
            var signature = ErrorSignature.of(type: failure.type, message: failure.message)
            if groups[signature] == nil, groups.count >= Self.most { signature = Self.other }
            let type = signature == Self.other ? "" : failure.type
            groups[signature, default: ErrorGroup(signature: signature, type: type)]
                .add(detail, failure, at: attempt.at)
        }
    }

    /// The largest groups first; among equal ones, the latest failure first.
    var sorted: [ErrorGroup] {
        groups.values.sorted { ($0.count, $0.last, $1.signature) > ($1.count, $1.last, $0.signature) }
    }
}

/// Prints groups of errors: `docs/schema/errors.json`.
struct ErrorReport: Sendable {
    let groups: ErrorGroups
    let limit: Int
    let result: ListWalk.Result

    func print(_ invocation: Invocation) {
        let console = invocation.console
        let all = groups.sorted
        let shown = Array(all.prefix(limit))
        switch invocation.format {
        case .json: console.print(json(shown, of: all.count), .json)
        case .jsonl: console.print(shown.map { Self.json($0).serialized() })
        case .id: console.print(shown.compactMap { $0.sample?.id.description })
        case .csv: console.print(csv(shown), .csv, showsHeader: invocation.options.showsHeader)
        case .table, .wide:
            if !shown.isEmpty {
                let table = table(shown, invocation)
                console.print(table, invocation.format, showsHeader: invocation.options.showsHeader)
            }
        }
        console.note(note(all, shown: shown.count))
    }

    private func note(_ all: [ErrorGroup], shown: Int) -> String {
        let noun = groups.operations == 1 ? "operation" : "operations"
        let numbers = "\(QuantityText.grouped(groups.operations)) \(noun) with \(QuantityText.grouped(all.count))"
        var parts = [all.isEmpty ? "no errors" : "\(numbers) \(all.count == 1 ? "error" : "different errors")"]
        if shown < all.count { parts.append("\(shown) shown: --limit") }
        if let coverage = result.coverage { parts.append(coverage) }
        if result.isCutShort { parts.append("more: --scan-limit") }
        return parts.joined(separator: "; ")
    }

    private func table(_ shown: [ErrorGroup], _ invocation: Invocation) -> Table {
        let ids = shown.compactMap { $0.sample?.id }
        let length = invocation.console.isOutputTerminal ? ShortID.length(for: ids) : .max
        let time = { TimeText.format($0, invocation.settings.time.content, now: invocation.now) }
        var table = Table([
            TableColumn("COUNT", alignment: .right), TableColumn("DEAD", alignment: .right, dropPriority: 3),
            TableColumn("RETRYING", alignment: .right, dropPriority: 3), TableColumn("FIRST", dropPriority: 2),
            TableColumn("LAST", dropPriority: 1),
            TableColumn("SAMPLE", minimumWidth: min(length, OperationID.characterCount) + 1),
            TableColumn("NAME", dropPriority: 2), TableColumn("ERROR", minimumWidth: 20),
        ])
        for group in shown {
            let sample = group.sample.map { ShortID.text($0.id, length: length, style: invocation.console.output) }
            let more = group.names.count > 1 ? " +\(group.names.count - 1)" : ""
            table.append(
                [
                    QuantityText.grouped(group.count), QuantityText.grouped(group.dead),
                    QuantityText.grouped(group.retrying), time(group.first), time(group.last), sample ?? "-",
                    (group.names.sorted().first ?? "-") + more, group.signature,
                ].map { TableCell($0) }
            )
        }
        return table
    }

    private func csv(_ shown: [ErrorGroup]) -> Table {
        let columns = ["COUNT", "DEAD", "RETRYING", "FIRST", "LAST", "SAMPLE", "NAMES", "QUEUES", "SIGNATURE"]
        var table = Table(columns.map { TableColumn($0) })
        for group in shown {
            table.append(
                [
                    "\(group.count)", "\(group.dead)", "\(group.retrying)", TimeText.rfc3339(group.first),
                    TimeText.rfc3339(group.last), group.sample?.id.description ?? "",
                    group.names.sorted().joined(separator: " "), group.queues.sorted().joined(separator: " "),
                    group.signature,
                ].map { TableCell($0) }
            )
        }
        return table
    }

    private func json(_ shown: [ErrorGroup], of count: Int) -> JSONValue {
        [
            "v": 1,
            "operations": .number(groups.operations),
            "signatures": .number(count),
            "scanned": .number(result.scanned),
            "total": JSONValue(result.total),
            "unread": .number(result.unread),
            "isComplete": .bool(!result.isCutShort),
            "groups": .array(shown.map(Self.json)),
            "absentNodes": AbsentNode.json(result.absent),
        ]
    }

    private static func json(_ group: ErrorGroup) -> JSONValue {
        [
            "v": 1,
            "signature": .string(group.signature),
            "type": .string(group.type),
            "count": .number(group.count),
            "dead": .number(group.dead),
            "retrying": .number(group.retrying),
            "first": OperationJSON.time(group.first),
            "last": OperationJSON.time(group.last),
            "sample": JSONValue(group.sample?.id.description),
            "message": JSONValue(group.sample?.message),
            "names": .array(group.names.sorted().map { .string($0) }),
            "queues": .array(group.queues.sorted().map { .string($0) }),
        ]
    }
}
