import Operations
import SluiceMonitor

/// Prints pages of operations as one list. In a pipe each page is printed at once, so that a list of any length needs little memory.
struct ListPrinter {
    private let invocation: Invocation
    /// The rows for a terminal, printed at the end in columns that fit all rows.
    private var kept: [OperationDetail] = []
    private var array: JSONArrayPrinter?
    private var isFirst = true

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
            if invocation.console.isOutputTerminal { kept += operations } else { printTable(operations) }
        }
        isFirst = false
    }

    /// - Parameters:
    ///   - cursor: where the list continues; nil = this was all.
    ///   - absent: nodes of a cluster whose queues were left out.
    mutating func finish(cursor: String?, absent: [AbsentNode] = []) {
        array?.finish(["cursor": JSONValue(cursor), "absentNodes": AbsentNode.json(absent)])
        if invocation.format == .csv, isFirst { invocation.console.print(OperationTable([], invocation).csv) }
        if !kept.isEmpty {
            isFirst = true
            printTable(kept)
        }
    }

    private func printTable(_ operations: [OperationDetail]) {
        let showsHeader = isFirst && invocation.options.showsHeader
        invocation.console.print(
            OperationTable(operations, invocation).table,
            invocation.format,
            showsHeader: showsHeader
        )
    }
}

/// Prints an object with one long array, part by part. Nothing is printed before the first part is known.
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

    /// Ends the array, and the object with further members.
    mutating func finish(_ members: KeyValuePairs<String, JSONValue> = [:]) {
        let end = isEmpty ? head + "]" : isPretty ? "\n  ]" : "]"
        let more = members.map { name, value in
            let member = "\(JSONValue.string(name).serialized()):\(isPretty ? " " : "")\(value.serialized())"
            return isPretty ? ",\n  \(member)" : ",\(member)"
        }
        console.write(end + more.joined() + (isPretty ? "\n}\n" : "}\n"))
    }
}
