import Foundation
import Operations
import Sluice
import TerminalText

/// Enqueues the operations of a file in bulk, in the order of its lines.
struct BatchEnqueue: Sendable {
    /// Operations between two updates of the progress. Each queue's part is sent in as few calls as possible.
    private static let window = 20 * Defaults.batch

    let verb: EnqueueVerb
    let invocation: Invocation

    func run(_ path: String) async throws -> ExitStatus {
        let console = invocation.console
        var (requests, errors) = try await verb.surroundings.lines == nil ? read(path) : readCommands(path)
        guard !requests.isEmpty else {
            let fix = verb.surroundings.lines == nil ? "write one JSON object a line" : "write one command a line"
            throw CLIError.usage("\(InputFile.name(path)) has no operations", fix: fix)
        }
        if let seal = invocation.seal { try check(requests, errors) { try $0.check(sealedBy: seal) } }
        guard !verb.dryRun else {
            console.note("\(requests.count) operations are well-formed; nothing was sent (--dry-run)")
            return .done
        }
        let client = try await invocation.connect()
        let queues = Set(kinds(of: requests, atMost: .max) { $0.queue == $1.queue }.map(\.queue)).sorted()
        if verb.strict { for queue in queues { try await QueueCheck(client).requireUsed(queue) } }
        try await resolve(&requests, errors, client)
        let started = ContinuousClock.now
        let handedOver = try await send(requests, client)
        summarize(handedOver, queues, time: ContinuousClock.now - started)
        await warn(requests, client)
        return verb.wait ? try await wait(for: handedOver.awaited, client) : .done
    }

    private func read(_ path: String) async throws -> ([EnqueueRequest], LineErrors) {
        let handle = try InputFile.open(path)
        defer { if path != "-" { try? handle.close() } }
        var file = BatchFile(name: InputFile.name(path), defaults: verb.settings)
        return (try await file.read(handle), file.errors)
    }

    private func readCommands(_ path: String) throws -> ([EnqueueRequest], LineErrors) {
        let handle = try InputFile.open(path)
        defer { if path != "-" { try? handle.close() } }
        let common = try verb.surroundings.added(to: JSONObject())
        let file = CommandFile(name: InputFile.name(path), settings: verb.settings, common: common)
        return (try file.read(Array(try handle.readToEnd() ?? Data())), file.errors)
    }

    /// - Throws: the error of `body`, with the line.
    private func check(
        _ requests: [EnqueueRequest],
        _ errors: LineErrors,
        _ body: (EnqueueRequest) throws -> Void
    ) throws {
        for request in requests {
            do { try body(request) } catch let error as OperationsError {
                throw errors.error(request.line, error.message)
            }
        }
    }

    /// Converts all start times to delays by the server's clock, before the first operation is sent.
    private func resolve(
        _ requests: inout [EnqueueRequest],
        _ errors: LineErrors,
        _ client: SluiceClient
    ) async throws {
        guard let first = requests.firstIndex(where: { $0.startsAt != nil }) else { return }
        let serverTime = try await requests[first].serverTime(client)
        try check(requests, errors) { _ = try $0.resolved(serverTime: serverTime) }
        for index in requests[first...].indices where requests[index].startsAt != nil {
            requests[index].operation = try requests[index].resolved(serverTime: serverTime)
        }
    }

    /// The operations that are in Redis.
    private struct HandedOver {
        var count = 0
        var created = 0
        var unconfirmed = 0
        /// What `--wait` waits for: where a unique key was taken, what has it.
        var awaited: [Location] = []
    }

    private func send(_ requests: [EnqueueRequest], _ client: SluiceClient) async throws -> HandedOver {
        var done = HandedOver()
        for start in stride(from: 0, to: requests.count, by: Self.window) {
            let window = requests[start..<min(start + Self.window, requests.count)]
            do { try await sendWindow(window, client, &done) } catch {
                throw interrupted(error, sent: start, of: requests.count)
            }
            invocation.console.account("\(done.count) of \(requests.count) operations are enqueued")
            showProgress(done.count, of: requests.count)
        }
        return done
    }

    private func sendWindow(
        _ window: ArraySlice<EnqueueRequest>,
        _ client: SluiceClient,
        _ done: inout HandedOver
    ) async throws {
        let isOneQueue = window.allSatisfy { $0.queue == window[window.startIndex].queue }
        let parts =
            isOneQueue
            ? [Array(window)]
            : Dictionary(grouping: window, by: \.queue)
                .sorted { $0.key < $1.key }.map(\.value)
        for part in parts {
            let (operations, queue) = (part.map(\.operation), part[0].queue)
            let (outcomes, isConfirmed) = try await client.handOver(
                operations,
                queue: queue,
                durability: verb.how.durability
            )
            done.count += operations.count
            done.created += outcomes.count { $0 == .created }
            if isConfirmed == false { done.unconfirmed += operations.count }
            let ids = try zip(operations, outcomes).map { operation, outcome in try outcome.id(of: operation) }
            if verb.wait { done.awaited += ids.map { Location(queue: queue, id: $0) } }
            if invocation.format == .id { invocation.console.print(ids.map(\.description)) }
            if invocation.format == .jsonl {
                invocation.console.print(zip(ids, outcomes).map { Self.json($0, queue, $1).serialized() })
            }
        }
    }

    private func interrupted(_ error: any Error, sent: Int, of count: Int) -> CLIError {
        var report = ErrorTranslation.report(error, settings: invocation.settings)
        let next = min(sent + Self.window, count)
        report.notes += [
            "the first \(sent) operations are enqueued; of numbers \(sent + 1) to \(next) some may be; the others are not",
            "with an \"id\" in each line the whole batch can be sent again: operations that exist stay unchanged",
        ]
        return report
    }

    /// The operations without neighbors of the same kind.
    private func kinds(
        of requests: [EnqueueRequest],
        atMost most: Int,
        alike: (EnqueueRequest, EnqueueRequest) -> Bool
    ) -> [EnqueueRequest] {
        var kinds: [EnqueueRequest] = []
        for request in requests where kinds.last.map({ !alike($0, request) }) ?? true {
            kinds.append(request)
            if kinds.count == most { break }
        }
        return kinds
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

    private func summarize(_ done: HandedOver, _ queues: [String], time: Duration) {
        let existed = done.count - done.created
        verb.how.durability.warn(unconfirmed: done.unconfirmed, invocation.console)
        if invocation.format == .json {
            invocation.console.print(
                [
                    "v": 1, "enqueued": .number(done.created), "existed": .number(existed),
                    "queues": .array(queues.map { .string($0) }),
                ],
                .json
            )
        }
        let note = existed == 0 ? "" : ", \(QuantityText.grouped(existed)) existed already"
        invocation.console.note(
            "\(QuantityText.grouped(done.created)) enqueued in \(DurationText.precise(time))\(note)"
        )
    }

    private static func json(_ id: OperationID, _ queue: String, _ outcome: EnqueueOutcome) -> JSONValue {
        [
            "v": 1, "id": .string(id.description), "queue": .string(queue), "isNew": .bool(outcome == .created),
        ]
    }

    private func warn(_ requests: [EnqueueRequest], _ client: SluiceClient) async {
        guard !invocation.console.quiet else { return }
        let large = requests.count { $0.operation.envelope.count > Defaults.operationWarningBytes }
        if large > 0 {
            invocation.console.warn(
                "\(QuantityText.grouped(large)) have more than \(QuantityText.bytes(Defaults.operationWarningBytes)) of arguments, "
                    + "which are sent with each claim; store them elsewhere and pass their address"
            )
        }
        let kinds = kinds(of: requests, atMost: 10_000) { $0.queue == $1.queue && $0.name == $1.name }
        var seen: Set<[String]> = []
        for request in kinds where seen.count < 100 { seen.insert([request.queue, request.name]) }
        await QueueCheck(client).warn(seen.map { ($0[0], $0[1]) }, console: invocation.console)
    }

    private func wait(for locations: [Location], _ client: SluiceClient) async throws -> ExitStatus {
        invocation.console.endHandingOver()
        let waiter = EndWaiter(client, console: invocation.console)
        let details = try await waiter.wait(for: locations, timeout: verb.waitTimeout).compactMap { $0 }
        let report = EndReport(details, timeout: verb.waitTimeout)
        if let error = report.error { invocation.console.report(error, asJSON: invocation.format.isJSON) }
        return report.status
    }
}
