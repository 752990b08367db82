import Operations
import Sluice
import SluiceMonitor
import SluiceOperator
import TerminalText

/// Prints existing and new log lines of an operation.
struct LogFollower: Sendable {
    private static let page = 500
    private static let pause: Duration = .milliseconds(250)

    private let client: SluiceClient
    private let invocation: Invocation

    init(_ client: SluiceClient, _ invocation: Invocation) {
        self.client = client
        self.invocation = invocation
    }

    /// Prints the existing lines.
    ///
    /// - Parameters:
    ///   - from: the number of the first line.
    ///   - last: the number of newest lines to print; nil = all.
    /// - Returns: the number of the next line.
    @discardableResult
    func print(_ location: Location, from: Int = 0, last: Int? = nil) async throws -> Int {
        let (lines, next, dropped) = try await read(location, from..<Int.max)
        noteDropped(dropped, shown: lines.count, last)
        show(last.map { Array(lines.suffix($0)) } ?? lines)
        return next
    }

    /// Prints the existing lines as one document in the output format.
    func printAll(_ location: Location, last: Int?) async throws {
        try await printAll(location, [0..<Int.max], last: last)
    }

    /// Prints the existing lines with these numbers.
    func printAll(_ location: Location, _ ranges: [Range<Int>], last: Int?) async throws {
        var lines: [LogLine] = []
        var dropped = 0
        for range in ranges {
            let part = try await read(location, range)
            lines += part.lines
            dropped += part.dropped
        }
        noteDropped(dropped, shown: lines.count, last)
        let shown = last.map { Array(lines.suffix($0)) } ?? lines
        switch invocation.format {
        case .json: invocation.console.print(.array(shown.map(Self.json)), .json)
        case .csv:
            invocation.console.print(invocation.options.showsHeader ? ["at,line"] : [])
            invocation.console.print(
                shown.map { line in
                    [line.at.map { TimeText.rfc3339($0) } ?? "", String(decoding: line.text, as: UTF8.self)]
                        .map(CSV.cell).joined(separator: ",")
                }
            )
        case .jsonl, .table, .wide, .id: show(shown)
        }
    }

    private static func json(_ line: LogLine) -> JSONValue {
        ["v": 1, "at": OperationJSON.time(line.at ?? 0), "line": .string(String(decoding: line.text, as: UTF8.self))]
    }

    /// Prints a note if the log has lost its beginning, unless the user wants fewer lines than exist.
    private func noteDropped(_ count: Int, shown: Int, _ last: Int?) {
        guard count > 0, last.map({ $0 > shown }) ?? true else { return }
        let lines = "\(QuantityText.grouped(count)) earlier \(count == 1 ? "line is" : "lines are") left out"
        let limits =
            "\(QuantityText.grouped(SluiceDefaults.logLines)) lines and \(QuantityText.bytes(SluiceDefaults.logBytes))"
        invocation.console.note(
            "\(lines): a log stores only its newest \(limits); for longer logs, let the program write a file"
        )
    }

    /// Reads the lines of a range.
    ///
    /// - Returns: the existing lines, the number of the next line, and the number of lines in the range that are no
    ///   longer stored.
    private func read(
        _ location: Location,
        _ range: Range<Int>
    ) async throws -> (lines: [LogLine], next: Int, dropped: Int) {
        var next = range.lowerBound
        var dropped = 0
        var kept: [LogLine] = []
        while next < range.upperBound {
            let (first, lines) = try await client.broker.log(
                location.id,
                queue: location.queue,
                from: next,
                limit: Self.page
            )
            if !lines.isEmpty { dropped += max(0, min(first, range.upperBound) - next) }
            kept += lines.prefix(max(0, range.upperBound - first))
            next = first + lines.count
            if lines.isEmpty { break }
        }
        return (kept, next, dropped)
    }

    /// Prints lines until the operation has ended and all lines are printed.
    func follow(_ location: Location, last: Int? = nil) async throws {
        var next = try await print(location, last: last)
        while true {
            // No line is written after the end, so a read of the state before the lines misses none.
            let detail = try await client.broker.details([location.id], queue: location.queue).first.flatMap { $0 }
            next = try await print(location, from: next)
            guard let detail, !detail.state.isTerminal else { return }
            try await Task.sleep(for: Self.pause)
        }
    }

    private func show(_ lines: [LogLine]) {
        let console = invocation.console
        switch invocation.format {
        case .json, .jsonl:
            lines.forEach { console.print(Self.json($0), .jsonl) }
        case .table, .wide, .csv, .id: console.print(lines.map(text))
        }
    }

    /// The text of a line. A terminal and `-o wide` also show the time; otherwise a pipe gets only the operation's
    /// output.
    private func text(_ line: LogLine) -> String {
        let text = SafeText.log(line.text)
        guard invocation.console.isOutputTerminal || invocation.format == .wide else { return text }
        let style = invocation.settings.time.content == .unix ? TimeStyle.unix : .iso
        return (line.at.map { TimeText.format($0, style, now: invocation.now) } ?? "-") + "  " + text
    }
}
