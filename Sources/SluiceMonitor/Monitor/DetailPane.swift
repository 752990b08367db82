import Operations
import SluiceOperator

/// The details of one operation, read for the detail screen.
package struct DetailReading: Sendable {
    package var address: OperationAddress
    /// The details; nil = the operation does not exist, or no longer exists.
    package var detail: OperationDetail?
    /// Milliseconds of server time, for ages.
    package var time: Int64?
    /// The number of the first line in `lines`.
    package var firstLine: Int
    package var lines: [LogLine]
    /// The connected operations; nil = not read.
    package var graph: OperationGraph?

    package init(
        address: OperationAddress,
        detail: OperationDetail?,
        time: Int64?,
        firstLine: Int = 0,
        lines: [LogLine] = [],
        graph: OperationGraph? = nil
    ) {
        self.address = address
        self.detail = detail
        self.time = time
        self.firstLine = firstLine
        self.lines = lines
        self.graph = graph
    }
}

/// The tabs of the detail screen.
package enum DetailTab: Sendable, CaseIterable {
    case info, attempts, logs, graph, timeline, raw
}

/// The detail screen of one operation.
package struct DetailPane: Sendable {
    /// The most log lines that the screen holds.
    static let logLines = 1_000

    package let address: OperationAddress
    package private(set) var detail: OperationDetail?
    /// Whether the last read found no operation.
    package private(set) var isMissing = false
    private(set) var time: Int64?
    private(set) var log: [LogLine] = []
    /// The connected operations, as they were read last.
    private(set) var graph: OperationGraph?
    /// The number of the next log line to read.
    package private(set) var nextLine = 0
    package private(set) var tab = DetailTab.info
    private(set) var scroll = 0
    /// Whether the newest log line stays visible.
    private(set) var followsLog = true

    init(_ address: OperationAddress) { self.address = address }

    mutating func update(_ reading: DetailReading) {
        time = reading.time ?? time
        isMissing = reading.detail == nil
        // The details of an operation that retention has removed stay on the screen, with a mark.
        if let detail = reading.detail { self.detail = detail }
        if let graph = reading.graph { self.graph = graph }
        let known = max(0, nextLine - reading.firstLine)
        guard known <= reading.lines.count else { return }
        log = (log + reading.lines.dropFirst(known)).suffix(Self.logLines)
        nextLine = reading.firstLine + reading.lines.count
    }

    mutating func show(_ tab: DetailTab) {
        self.tab = tab
        scroll = 0
        followsLog = true
    }

    /// Scrolls by a number of lines. The log is followed only at its newest line.
    ///
    /// - Parameter most: the greatest scroll position.
    mutating func scroll(by distance: Int, most: Int) {
        let from = isFollowing ? most : min(scroll, most)
        scroll = min(max(0, from + distance), most)
        if tab == .logs { followsLog = scroll == most }
    }

    /// Shows the log and follows its newest line, or stops following.
    ///
    /// - Parameter most: the greatest scroll position.
    mutating func toggleFollow(most: Int) {
        tab = .logs
        followsLog.toggle()
        scroll = most
    }

    /// Scrolls the log to the next line that contains a text, given in lower case.
    ///
    /// - Returns: false if no line contains the text.
    mutating func findLine(_ wanted: String, forward: Bool) -> Bool {
        let count = log.count
        guard count > 0 else { return false }
        let start = tab == .logs ? min(scroll, count - 1) : count - 1
        for step in 1...count {
            let index = (start + (forward ? step : count - step)) % count
            guard String(decoding: log[index].text, as: UTF8.self).lowercased().contains(wanted) else { continue }
            (tab, scroll, followsLog) = (.logs, index, false)
            return true
        }
        return false
    }

    var isFollowing: Bool { tab == .logs && followsLog }
}
