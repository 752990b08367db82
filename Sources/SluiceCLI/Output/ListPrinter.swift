import Operations
import SluiceMonitor
import SluiceOperator

/// Prints pages of operations as one list.
///
/// On a terminal, the columns fit all rows. In a pipe, rows are printed in parts, at least once a second, so a list of
/// any length needs little memory. The columns then fit the first part, and grow if necessary.
struct ListPrinter {
    /// The number of rows in a part in a pipe. A part joins pages, since a page has rows of one state and may be short.
    private static let part = 500

    private let invocation: Invocation
    /// The rows of the next part.
    private var kept: [OperationDetail] = []
    /// The column widths of the printed parts.
    private var widths: [Int] = []
    private var array: JSONArrayPrinter?
    private var isFirst = true
    private var printedAt = ContinuousClock.now

    init(_ invocation: Invocation) {
        self.invocation = invocation
        if invocation.format == .json { array = JSONArrayPrinter("operations", invocation.console, .json) }
    }

    mutating func show(_ operations: [OperationDetail]) {
        let view = invocation.view
        switch invocation.format {
        case .json: array?.add(operations.map { OperationJSON.object($0, view) })
        case .jsonl: invocation.console.print(operations.map { OperationJSON.object($0, view).serialized() })
        case .id: invocation.console.print(operations.map(\.id.description))
        case .csv: invocation.console.print(OperationTable(operations, invocation).csv(showsHeader: isFirst))
        case .table, .wide:
            kept += operations
            let isDue = kept.count >= Self.part || ContinuousClock.now - printedAt >= .seconds(1)
            if !invocation.console.isOutputTerminal, isDue { printKept() }
        }
        if !invocation.format.isText { isFirst = false }
    }

    /// Ends the list.
    ///
    /// - Parameters:
    ///   - cursor: the position at which the list continues; nil = the list is complete.
    ///   - absent: nodes of a cluster whose queues were left out.
    mutating func finish(cursor: String?, absent: [AbsentNode] = []) {
        array?.finish(["cursor": JSONValue(cursor), "absentNodes": AbsentNode.json(absent)])
        if invocation.format == .csv, isFirst { invocation.console.print(OperationTable([], invocation).csv) }
        printKept()
    }

    /// Prints the collected rows. Also called after an error.
    mutating func printKept() {
        guard !kept.isEmpty else { return }
        let showsHeader = isFirst && invocation.options.showsHeader
        let table = OperationTable(kept, invocation).table
        invocation.console.print(table, invocation.format, showsHeader: showsHeader, atLeast: widths)
        widths = table.widths(showsHeader: showsHeader, atLeast: widths)
        (kept, isFirst, printedAt) = ([], false, .now)
    }
}

/// Prints an object with a long array, part by part. Prints nothing before the first part is known.
struct JSONArrayPrinter {
    private let name: String
    private let console: Console
    private let isPretty: Bool
    private var isEmpty = true

    init(_ name: String, _ console: Console, _ format: OutputFormat) {
        self.name = JSONValue.string(name).serialized()
        self.console = console
        isPretty = format == .json
    }

    private var head: String { isPretty ? "{\n  \"v\": 1,\n  \(name): [" : "{\"v\":1,\(name):[" }

    mutating func add(_ elements: [JSONValue]) {
        guard !elements.isEmpty else { return }
        let separator = isPretty ? ",\n    " : ","
        let begin = isEmpty ? head + (isPretty ? "\n    " : "") : separator
        isEmpty = false
        console.write(begin + elements.map { $0.serialized() }.joined(separator: separator))
    }

    /// Ends the array, and ends the object with further members.
    mutating func finish(_ members: KeyValuePairs<String, JSONValue> = [:]) {
        let end = isEmpty ? head + "]" : isPretty ? "\n  ]" : "]"
        let more = members.map { name, value in
            let member = "\(JSONValue.string(name).serialized()):\(isPretty ? " " : "")\(value.serialized())"
            return isPretty ? ",\n  \(member)" : ",\(member)"
        }
        console.write(end + more.joined() + (isPretty ? "\n}\n" : "}\n"))
    }
}
