import Operations
import Sluice
import SluiceMonitor

/// Prints log lines of an operation, those that are there and those that come.
struct LogFollower: Sendable {
    private static let page = 500
    private static let pause: Duration = .milliseconds(250)

    private let client: SluiceClient
    private let invocation: Invocation

    init(_ client: SluiceClient, _ invocation: Invocation) {
        self.client = client
        self.invocation = invocation
    }

    /// Prints the lines that are there.
    ///
    /// - Parameters:
    ///   - from: the number of the first line.
    ///   - last: only that many of the newest; nil = all.
    /// - Returns: the number of the line that would come next.
    @discardableResult
    func print(_ location: Location, from: Int = 0, last: Int? = nil) async throws -> Int {
        var next = from
        var kept: [[UInt8]] = []
        while true {
            let (first, lines) = try await client.broker.log(
                location.id,
                queue: location.queue,
                from: next,
                limit: Self.page
            )
            next = first + lines.count
            kept += lines
            if lines.isEmpty { break }
        }
        show(last.map { Array(kept.suffix($0)) } ?? kept)
        return next
    }

    /// Prints lines until the operation ended and all of them are shown.
    func follow(_ location: Location, last: Int? = nil) async throws {
        var next = try await print(location, last: last)
        while true {
            // The state is read before the lines: nothing is written after the end.
            let detail = try await client.broker.details([location.id], queue: location.queue).first.flatMap { $0 }
            next = try await print(location, from: next)
            guard let detail, !detail.state.isTerminal else { return }
            try await Task.sleep(for: Self.pause)
        }
    }

    private func show(_ lines: [[UInt8]]) {
        let console = invocation.console
        switch invocation.format {
        case .json, .jsonl:
            lines.forEach { console.print(["v": 1, "line": .string(String(decoding: $0, as: UTF8.self))], .jsonl) }
        case .table, .wide, .csv, .id: console.print(lines.map { SafeText.log($0) })
        }
    }
}
