import Operations

/// The details of one operation, read for the detail screen.
package struct DetailReading: Sendable {
    package var address: OperationAddress
    /// The details; nil = the operation does not exist, or no longer.
    package var detail: OperationDetail?
    /// Milliseconds of server time, for ages.
    package var time: Int64?
    /// The number of the first of `lines`.
    package var firstLine: Int
    package var lines: [LogLine]

    package init(
        address: OperationAddress,
        detail: OperationDetail?,
        time: Int64?,
        firstLine: Int = 0,
        lines: [LogLine] = []
    ) {
        self.address = address
        self.detail = detail
        self.time = time
        self.firstLine = firstLine
        self.lines = lines
    }
}

/// The detail screen of one operation.
package struct DetailPane: Sendable {
    /// The number of kept log lines.
    static let logLines = 200

    package let address: OperationAddress
    package private(set) var detail: OperationDetail?
    /// Whether the last read found no operation.
    package private(set) var isMissing = false
    private(set) var time: Int64?
    private(set) var log: [LogLine] = []
    /// The number of the next log line to read.
    package private(set) var nextLine = 0
    var scroll = 0

    init(_ address: OperationAddress) { self.address = address }

    mutating func update(_ reading: DetailReading) {
        time = reading.time ?? time
        isMissing = reading.detail == nil
        // The details of an operation that retention has removed stay on the screen, with a mark.
        if let detail = reading.detail { self.detail = detail }
        let known = max(0, nextLine - reading.firstLine)
        guard known <= reading.lines.count else { return }
        log = (log + reading.lines.dropFirst(known)).suffix(Self.logLines)
        nextLine = reading.firstLine + reading.lines.count
    }
}
