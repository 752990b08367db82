import Foundation
import Operations
import Sluice
import SluiceMonitor

/// Sends the operations of a file in bulk, in the order of its lines.
struct BatchEnqueue: Sendable {
    /// Operations between two looks at the progress; each queue's part goes in as few calls as possible.
    private static let window = 20 * Defaults.batch

    let verb: EnqueueVerb
    let invocation: Invocation

    func run(_ path: String) async throws -> ExitStatus {
        let console = invocation.console
        let requests = try verb.surroundings.lines == nil ? read(path) : readCommands(path)
        guard !requests.isEmpty else {
            let fix = verb.surroundings.lines == nil ? "one JSON object a line" : "one command a line"
            throw CLIError.usage("\(InputFile.name(path)) has no operations", fix: fix)
        }
        guard !verb.dryRun else {
            console.note("\(requests.count) operations are well-formed; nothing was sent (--dry-run)")
            return .done
        }
        let client = try await invocation.connect()
        let queues = Set(requests.map(\.queue)).sorted()
        if verb.strict { for queue in queues { try await QueueCheck(client).requireUsed(queue) } }
        // From here on work is handed over: that must not end because nobody reads the ids.
        console.outlivesItsReader()
        let started = ContinuousClock.now
        let references = try await send(requests, client)
        summarize(references, queues, time: ContinuousClock.now - started)
        try await warn(requests, client)
        return verb.wait ? try await wait(references, client) : .done
    }

    private func read(_ path: String) throws -> [EnqueueRequest] {
        let handle = try InputFile.open(path)
        defer { if path != "-" { try? handle.close() } }
        var file = BatchFile(name: InputFile.name(path), defaults: verb.how.settings)
        return try file.read(handle)
    }

    private func readCommands(_ path: String) throws -> [EnqueueRequest] {
        let handle = try InputFile.open(path)
        defer { if path != "-" { try? handle.close() } }
        let common = try verb.surroundings.added(to: JSONObject())
        let file = CommandFile(name: InputFile.name(path), settings: verb.how.settings, common: common)
        return try file.read(Array(try handle.readToEnd() ?? Data()))
    }

    private func send(_ requests: [EnqueueRequest], _ client: SluiceClient) async throws -> [OperationReference] {
        let serverTime = try await requests.first { $0.startsAt != nil }?.serverTime(client)
        var references: [OperationReference] = []
        references.reserveCapacity(requests.count)
        for start in stride(from: 0, to: requests.count, by: Self.window) {
            let window = requests[start..<min(start + Self.window, requests.count)]
            do { references += try await sendWindow(window, client, serverTime) } catch {
                throw interrupted(error, sent: start, of: requests.count)
            }
            showProgress(references.count, of: requests.count)
        }
        return references
    }

    private func sendWindow(
        _ window: ArraySlice<EnqueueRequest>,
        _ client: SluiceClient,
        _ serverTime: Int64?
    ) async throws -> [OperationReference] {
        var references: [OperationReference] = []
        for (queue, part) in Dictionary(grouping: window, by: \.queue).sorted(by: { $0.key < $1.key }) {
            references += try await client.enqueue(
                part.map { try $0.resolved(serverTime: serverTime) },
                queue: queue,
                durability: verb.how.durability
            )
        }
        if invocation.format == .id { invocation.console.print(references.map(\.id.description)) }
        if invocation.format == .jsonl { invocation.console.print(references.map { Self.json($0).serialized() }) }
        return references
    }

    private func interrupted(_ error: any Error, sent: Int, of count: Int) -> CLIError {
        var report = ErrorTranslation.report(error, settings: invocation.settings)
        let next = min(sent + Self.window, count)
        report.notes += [
            "the first \(sent) operations are enqueued; of numbers \(sent + 1) to \(next) some may be; the rest is not",
            "with an \"id\" in each line the whole batch can be sent again: what is there already stays as it is",
        ]
        return report
    }
}

// MARK: - Output

extension BatchEnqueue {
    private func showProgress(_ done: Int, of count: Int) {
        let console = invocation.console
        let fraction = Double(done) / Double(count)
        let bar = QuantityText.bar(fraction, ascii: console.errors.usesASCII)
        console.showStatus(
            "enqueue \(QuantityText.percent(fraction)) \(bar) \(QuantityText.grouped(done))/\(QuantityText.grouped(count))"
        )
    }

    private func summarize(_ references: [OperationReference], _ queues: [String], time: Duration) {
        let created = references.count(where: \.isNew)
        let existed = references.count - created
        verb.how.durability.warn(references, invocation.console)
        if invocation.format == .json {
            invocation.console.print(
                [
                    "v": 1, "enqueued": .number(created), "existed": .number(existed),
                    "queues": .array(queues.map { .string($0) }),
                ],
                .json
            )
        }
        let note = existed == 0 ? "" : ", \(QuantityText.grouped(existed)) were there already"
        invocation.console.note(
            "\(QuantityText.grouped(created)) enqueued in \(DurationText.precise(time))\(note)"
        )
    }

    private static func json(_ reference: OperationReference) -> JSONValue {
        [
            "v": 1, "id": .string(reference.id.description), "queue": .string(reference.queue),
            "created": .bool(reference.isNew),
        ]
    }

    private func warn(_ requests: [EnqueueRequest], _ client: SluiceClient) async throws {
        guard !invocation.console.quiet else { return }
        var seen: Set<[String]> = []
        for request in requests where seen.count < 100 { seen.insert([request.queue, request.operation.envelopeName]) }
        try await QueueCheck(client).warn(seen.map { ($0[0], $0[1]) }, console: invocation.console)
    }

    private func wait(_ references: [OperationReference], _ client: SluiceClient) async throws -> ExitStatus {
        let locations = references.map { Location(queue: $0.queue, id: $0.id) }
        let waiter = EndWaiter(client, console: invocation.console)
        let details = try await waiter.wait(for: locations, timeout: verb.waitTimeout).compactMap { $0 }
        let report = EndReport(details, timeout: verb.waitTimeout)
        if let error = report.error { invocation.console.report(error, asJSON: invocation.format.isJSON) }
        return report.status
    }
}
