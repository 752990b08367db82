import Operations
import Sluice
import SluiceMonitor
import SluiceOperator
import TerminalText

/// Waits until operations have started. Reads the operations again after each event in their queues.
struct StartWaiter: Sendable {
    /// The longest time between two reads, since events may be lost.
    private static let longest: Duration = .seconds(2)
    private let client: SluiceClient

    private let console: Console

    init(_ client: SluiceClient, console: Console) {
        self.client = client
        self.console = console
    }

    /// Waits until all operations have started or ended, or the first one if `any` is set.
    ///
    /// - Returns: the details of each operation that still exists.
    func wait(for targets: [Location], timeout: Duration?, any: Bool) async throws -> [OperationDetail] {
        let deadline = timeout.map { ContinuousClock.now + $0 }
        let reader = EndWaiter(client, console: console)
        let (news, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let events = client.broker.events(queues: Array(Set(targets.map(\.queue))))
        let listener = Task { [console] in
            do { for try await _ in events { continuation.yield() } } catch {
                let delay = DurationText.short(Self.longest)
                console.warn(SafeText.line("starts are noticed up to \(delay) late: \(error)"))
            }
        }
        defer {
            listener.cancel()
            console.clearStatus()
        }
        var next = news.makeAsyncIterator()
        while true {
            let details = try await reader.read(targets, until: deadline).compactMap { $0 }
            let settled = details.count { $0.hasStarted || $0.state.isTerminal }
            console.showStatus("\(QuantityText.grouped(settled))/\(QuantityText.grouped(details.count)) started")
            if settled == details.count || (any && settled > 0) { return details }
            let left = deadline.map { $0 - .now } ?? Self.longest
            guard left > .zero else { return details }
            let alarm = Task {
                try await Task.sleep(for: min(left, Self.longest))
                continuation.yield()
            }
            defer { alarm.cancel() }
            await next.next()
        }
    }
}

extension OperationDetail {
    /// Whether a worker has started the operation.
    var hasStarted: Bool { record.startedAt > 0 }
}

/// Prints the started operations, and an error if some have not started.
struct StartReport {
    private let details: [OperationDetail]
    private let any: Bool

    init(_ details: [OperationDetail], any: Bool) {
        self.details = details
        self.any = any
    }

    private var status: ExitStatus {
        if any, details.contains(where: \.hasStarted) { return .done }
        // An operation that ended without a start was cancelled or has expired.
        if details.contains(where: { !$0.hasStarted && $0.state.isTerminal }) { return .cancelled }
        return details.allSatisfy(\.hasStarted) ? .done : .timedOut
    }

    func print(_ invocation: Invocation) -> ExitStatus {
        let console = invocation.console
        let view = invocation.view
        let started = details.filter(\.hasStarted)
        switch invocation.format {
        case .json:
            let all = details.map { OperationJSON.object($0, view) }
            console.print(["v": 1, "timedOut": .bool(status == .timedOut), "operations": .array(all)], .json)
        case .jsonl: details.forEach { console.print(OperationJSON.object($0, view), .jsonl) }
        case .id: console.print(started.map { $0.id.description })
        case .csv: console.print(OperationTable(started, invocation).csv)
        case .table, .wide:
            if details.count == 1 || invocation.listsAll {
                console.print(started.map { "\($0.id) started" })
            } else if status == .done {
                console.print(
                    "\(QuantityText.grouped(started.count)) of \(QuantityText.grouped(details.count)) have started"
                )
            }
        }
        if status != .done {
            let waiting = details.filter { !$0.hasStarted }
            let lines = waiting.prefix(10).map { "\($0.envelope.name) \($0.id) is \($0.state.rawValue)" }
            let error = CLIError(
                status,
                "\(started.count) of \(details.count) have started",
                notes: lines,
                fix: waiting.first.map { "\(Program.name) show \($0.id)" }
            )
            console.report(error, asJSON: invocation.format.isJSON)
        }
        return status
    }
}
