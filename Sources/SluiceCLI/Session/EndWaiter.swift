import Operations
import Sluice
import SluiceMonitor

/// Waits until operations ended, and meanwhile says how far they are.
package struct EndWaiter: Sendable {
    package let client: SluiceClient
    package let console: Console

    /// At most this many operations are read for the progress line.
    private static let shownOperations = 50

    package init(_ client: SluiceClient, console: Console) {
        self.client = client
        self.console = console
    }

    /// Waits for all of the operations, or for one of them.
    ///
    /// - Returns: what is stored about each at the end, in order; nil where there is no such operation.
    package func wait(for targets: [Location], timeout: Duration?, any: Bool = false) async throws -> [OperationDetail?]
    {
        let reporter = Task { await report(targets) }
        defer {
            reporter.cancel()
            console.clearStatus()
        }
        let byQueue = Dictionary(grouping: targets, by: \.queue)
        try await withThrowingTaskGroup { group in
            for (queue, locations) in byQueue {
                let ids = locations.map(\.id)
                for ids in any ? ids.map({ [$0] }) : [ids] {
                    group.addTask { _ = try await client.broker.awaitEnd(of: ids, queue: queue, timeout: timeout) }
                }
            }
            if any { try await group.next() } else { try await group.waitForAll() }
            group.cancelAll()
        }
        return try await read(targets)
    }

    /// What is stored about the operations now, in order.
    package func read(_ targets: [Location]) async throws -> [OperationDetail?] {
        var found: [Location: OperationDetail] = [:]
        for (queue, locations) in Dictionary(grouping: targets, by: \.queue) {
            for detail in try await client.broker.allDetails(locations.map(\.id), queue: queue) {
                if let detail { found[Location(queue: queue, id: detail.id)] = detail }
            }
        }
        return targets.map { found[$0] }
    }

    /// On a terminal a line that moves; elsewhere a line every ten seconds in which something changed.
    private func report(_ targets: [Location]) async {
        guard !console.quiet else { return }
        let interval: Duration = console.isErrorTerminal ? .milliseconds(300) : .seconds(10)
        var last = ""
        while (try? await Task.sleep(for: interval)) != nil {
            let shown = Array(targets.prefix(Self.shownOperations))
            guard let details = try? await read(shown), !Task.isCancelled else { continue }
            let line = Self.line(details.compactMap { $0 }, of: targets.count, style: console.errors)
            if console.isErrorTerminal {
                console.showStatus(line)
            } else if line != last {
                console.note(line)
            }
            last = line
        }
    }

    /// `►  68% ███████░░░ 14/20 · 3 executing · encode.part7: "pass 2"`
    package static func line(_ details: [OperationDetail], of total: Int, style: Style) -> String {
        let ended = details.count { $0.state.isTerminal }
        let executing = details.filter { $0.state == .executing }
        let done = details.reduce(0.0) { $0 + ($1.state.isTerminal ? 1 : $1.progress?.fraction ?? 0) }
        let fraction = details.isEmpty ? 0 : done / Double(details.count)
        let percent = QuantityText.percent(fraction)
        var parts = [
            OperationState.executing.mark(ascii: style.usesASCII)
                + String(repeating: " ", count: max(0, 5 - percent.count)) + percent
                + " " + QuantityText.bar(fraction, ascii: style.usesASCII) + " \(ended)/\(total)"
        ]
        let waiting = Dictionary(grouping: details.filter { $0.state.isWaiting }, by: \.state)
        if !executing.isEmpty { parts.append("\(executing.count) executing") }
        parts += waiting.sorted { $0.key.rawValue < $1.key.rawValue }.map { "\($0.value.count) \($0.key.rawValue)" }
        if let running = executing.first(where: { !($0.progress?.message ?? "").isEmpty }) {
            parts.append("\(running.envelope.name): \"\(SafeText.line(running.progress?.message ?? ""))\"")
        }
        return parts.joined(separator: style.usesASCII ? " - " : " · ")
    }
}

extension ExitStatus {
    /// The status for operations that were waited for.
    package static func ofEnds(_ states: some Sequence<OperationState>) -> ExitStatus {
        var status = ExitStatus.done
        for state in states {
            switch state {
            case .dead: return .dead
            case .cancelled, .expired: status = .cancelled
            default: if !state.isTerminal { return .timedOut }
            }
        }
        return status
    }
}
