import Foundation
import Operations
import Sluice
import TerminalText

/// Enqueues the operations of a file, in the order of the lines.
struct BatchEnqueue: Sendable {
    let verb: EnqueueVerb
    let invocation: Invocation

    func run(_ path: String) async throws -> ExitStatus {
        let console = invocation.console
        var (batch, errors) = try await verb.surroundings.lines == nil ? read(path) : readCommands(path)
        // An empty file is no error: a nightly job may find nothing to do.
        guard batch.count > 0 else {
            console.note("\(InputFile.name(path)) is empty: nothing to enqueue")
            if invocation.format == .json { printSummary(HandedOver(), []) }
            return .done
        }
        if let seal = invocation.seal { try check(batch.requests, errors) { try $0.check(sealedBy: seal) } }
        guard !verb.dryRun else {
            try await DryEnqueue(invocation).check(batch, errors)
            console.note("\(batch.count) operations are well-formed; nothing was sent (--dry-run)")
            return .done
        }
        let client = try await invocation.connect()
        if batch.hasQuestions { batch = try await answered(batch, errors, client) }
        if verb.strict { for queue in batch.queues { try await QueueCheck(client).requireUsed(queue) } }
        let started = ContinuousClock.now
        let handedOver = try await send(batch, client)
        summarize(handedOver, batch.queues, time: ContinuousClock.now - started)
        await warn(batch, hasNew: handedOver.created > 0, client)
        return verb.wait ? try await wait(for: handedOver.awaited, client) : .done
    }

    /// Asks Redis for groups, dependencies and start times. Returns the batch with the answers, in an order in which it
    /// can be sent.
    private func answered(_ batch: Batch, _ errors: LineErrors, _ client: SluiceClient) async throws -> Batch {
        var requests = Array(batch.requests)
        try await GroupLookup(client: client).complete(&requests)
        try await resolve(&requests, errors, client)
        try await DependencyLookup(client: client).complete(&requests)
        return Batch(try ordered(requests).map { BatchPart($0) })
    }

    private func read(_ path: String) async throws -> (Batch, LineErrors) {
        let handle = try InputFile.open(path)
        defer { if path != "-" { try? handle.close() } }
        var file = BatchFile(name: InputFile.name(path), defaults: verb.settings)
        return (try await file.read { try InputFile.next(of: handle, path, upTo: $0) }, file.errors)
    }

    private func readCommands(_ path: String) throws -> (Batch, LineErrors) {
        let handle = try InputFile.open(path)
        defer { if path != "-" { try? handle.close() } }
        let common = try verb.surroundings.added(to: JSONObject())
        let file = CommandFile(name: InputFile.name(path), settings: verb.settings, common: common)
        var bytes: [UInt8] = []
        while let more = try InputFile.next(of: handle, path) { bytes += more }
        return (try file.read(bytes), file.errors)
    }

    /// Runs a check on each request.
    ///
    /// - Throws: the error of `body`, with the line.
    private func check(
        _ requests: some Sequence<EnqueueInput>,
        _ errors: LineErrors,
        _ body: (EnqueueInput) throws -> Void
    ) throws {
        for request in requests {
            do { try body(request) } catch let error as OperationsError {
                throw errors.error(request.line, error.message)
            }
        }
    }

    /// Converts all start times to delays by the server's clock, before the first operation is sent.
    private func resolve(
        _ requests: inout [EnqueueInput],
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

    /// The operations that Redis has stored.
    private struct HandedOver {
        var count = 0
        var created = 0
        var unconfirmed = 0
        /// The operations that `--wait` waits for. If a unique key was taken, this is the operation that holds it.
        var awaited: [Location] = []
        /// The output for each line.
        var output: [(line: Int, text: String)] = []

        /// `, 1 existed already`
        var existedText: String { count == created ? "" : ", \(count - created) existed already" }

        /// `2 operations are enqueued, 1 existed already`
        var text: String {
            "\(created) \(created == 1 ? "operation is" : "operations are") enqueued\(existedText)"
        }
    }

    private func send(_ batch: Batch, _ client: SluiceClient) async throws -> HandedOver {
        var done = HandedOver()
        let count = batch.count
        // Dependents are sent after their dependencies, but the output keeps the order of the lines.
        let isInOrder = !batch.hasDependencies
        defer { printOutput(&done) }
        for window in batch.windows {
            defer { if isInOrder { printOutput(&done) } }
            do { try await send(window, client, &done) } catch {
                throw interrupted(error, done, window: window.reduce(0) { $0 + $1.count }, of: count)
            }
            invocation.console.account("\(done.created) of \(count) operations are enqueued\(done.existedText)")
            showProgress(done.count, of: count)
        }
        return done
    }

    /// Splits the requests into parts, in their order or with each request after its dependencies. A request that
    /// depends on operations of another queue is in a later part than these.
    private func ordered(_ requests: [EnqueueInput]) throws -> [ArraySlice<EnqueueInput>] {
        let queue = { requests[$0].queue }
        let operations = requests.map(\.operation)
        guard let places = try DependencyOrder.places(operations, queue: queue) else { return Self.parts(requests) }
        let dependencies = DependencyOrder.dependencies(operations, queue: queue)
        var levels = Array(repeating: 0, count: requests.count)
        for place in places {
            levels[place] = dependencies[place].map { levels[$0] + (queue($0) == queue(place) ? 0 : 1) }.max() ?? 0
        }
        return Dictionary(grouping: places) { levels[$0] }.sorted { $0.key < $1.key }
            .flatMap { _, places in Self.parts(places.map { requests[$0] }) }
    }

    private static func parts(_ requests: [EnqueueInput]) -> [ArraySlice<EnqueueInput>] {
        stride(from: 0, to: requests.count, by: BatchPart.most).map { start in
            requests[start..<min(start + BatchPart.most, requests.count)]
        }
    }

    /// The requests of each queue, in their order. Mostly there is one queue: then they are not grouped, which would
    /// cost 4 % of an enqueue.
    private static func byQueue(_ window: ArraySlice<BatchPart>) -> [(queue: String, requests: [EnqueueInput])] {
        var requests: [EnqueueInput] = []
        requests.reserveCapacity(window.reduce(0) { $0 + $1.count })
        for part in window { requests += part.requests() }
        guard let queue = requests.first?.queue else { return [] }
        if requests.allSatisfy({ $0.queue == queue }) { return [(queue, requests)] }
        return Dictionary(grouping: requests, by: \.queue).sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    private func send(
        _ window: ArraySlice<BatchPart>,
        _ client: SluiceClient,
        _ done: inout HandedOver
    ) async throws {
        for (queue, requests) in Self.byQueue(window) {
            let operations = requests.map(\.operation)
            let (outcomes, isConfirmed) = try await client.outcomes(
                operations,
                queue: queue,
                durability: verb.how.durability
            )
            if isConfirmed == false { done.unconfirmed += operations.count }
            // A refused operation must not hide the operations that were enqueued with it.
            var refusal: OperationsError?
            for (request, outcome) in zip(requests, outcomes) {
                do throws(OperationsError) {
                    let id = try outcome.id(of: request.operation)
                    done.count += 1
                    if outcome == .created { done.created += 1 }
                    if verb.wait { done.awaited.append(Location(queue: queue, id: id)) }
                    if let text = text(id, queue, outcome) { done.output.append((request.line, text)) }
                } catch { refusal = refusal ?? error }
            }
            if let refusal { throw refusal }
        }
    }

    /// The output for an operation; nil = none.
    private func text(_ id: OperationID, _ queue: String, _ outcome: EnqueueOutcome) -> String? {
        switch invocation.format {
        case .id: id.description
        case .jsonl: Self.json(id, queue, outcome).serialized()
        default: nil
        }
    }

    private func printOutput(_ done: inout HandedOver) {
        let output = done.output.sorted { $0.line < $1.line }.map(\.text)
        done.output = []
        if !output.isEmpty { invocation.console.print(output) }
    }

    private func interrupted(_ error: any Error, _ done: HandedOver, window: Int, of count: Int) -> CLIError {
        var report = ErrorTranslation.report(error, settings: invocation.settings)
        report.notes += [
            "\(done.text); up to \(window) more may be enqueued; the rest of the \(count) operations is not",
            "with an \"id\" in each line the whole batch can be sent again: operations that exist stay unchanged",
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

    private func summarize(_ done: HandedOver, _ queues: [String], time: Duration) {
        let existed = done.count - done.created
        verb.how.durability.warn(unconfirmed: done.unconfirmed, invocation.console)
        if invocation.format == .json { printSummary(done, queues) }
        let note = existed == 0 ? "" : ", \(QuantityText.grouped(existed)) existed already"
        invocation.console.note(
            "\(QuantityText.grouped(done.created)) enqueued in \(DurationText.precise(time))\(note)"
        )
    }

    private func printSummary(_ done: HandedOver, _ queues: [String]) {
        invocation.console.print(
            [
                "v": 1, "enqueued": .number(done.created), "existed": .number(done.count - done.created),
                "queues": .array(queues.map { .string($0) }),
            ],
            .json
        )
    }

    private static func json(_ id: OperationID, _ queue: String, _ outcome: EnqueueOutcome) -> JSONValue {
        [
            "v": 1, "id": .string(id.description), "queue": .string(queue), "isNew": .bool(outcome == .created),
        ]
    }

    private func warn(_ batch: Batch, hasNew: Bool, _ client: SluiceClient) async {
        let hopeless = batch.parts.flatMap(\.linesNeverStarted)
        if let first = hopeless.min() {
            let many = hopeless.count == 1 ? "it expires" : "\(hopeless.count) operations expire"
            invocation.console.warn("line \(first): \(many) before being due, and never start")
        }
        guard !invocation.console.quiet else { return }
        let large = batch.count(largerThan: SluiceDefaults.operationWarningBytes)
        if large > 0 {
            invocation.console.warn(
                "\(QuantityText.grouped(large)) have more than \(QuantityText.bytes(SluiceDefaults.operationWarningBytes)) of arguments, "
                    + "which are sent with each claim; store them elsewhere and pass their address"
            )
        }
        guard hasNew else { return }
        await QueueCheck(client).warn(batch.namesAndQueues, console: invocation.console)
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
