import Operations
import Sluice
import SluiceMonitor
import SluiceOperator
import TerminalText

/// Handles output, warnings and the wait after the enqueue of an operation.
struct SingleEnqueue: Sendable {
    let verb: EnqueueVerb
    let invocation: Invocation
    let client: SluiceClient

    func finish(_ reference: OperationReference, _ request: EnqueueInput) async throws -> ExitStatus {
        let name = request.name
        let existing = reference.isNew ? nil : await noteExisting(reference, request)
        if request.neverStarts {
            invocation.console.warn("it expires before it is due: it never starts")
        }
        verb.how.durability.warn(unconfirmed: reference.isConfirmed == false ? 1 : 0, invocation.console)
        let waits = verb.wait || verb.follow
        announce(reference, name, waits: waits)
        let bytes = request.operation.envelope.count
        if bytes > SluiceDefaults.operationWarningBytes {
            invocation.console.warn(
                "\(QuantityText.bytes(bytes)) of arguments are sent with each claim; store them elsewhere and pass their address"
            )
        }
        if reference.isNew || existing?.isWaiting == true {
            let check = QueueCheck(client, done: reference.isNew ? "enqueued" : "it waits")
            await check.warn([(request.queue, name)], console: invocation.console)
        }
        invocation.console.endHandingOver()
        guard waits else { return .done }
        return try await wait(reference)
    }

    /// Prints a note about the operation that exists already.
    ///
    /// - Returns: the state of that operation; nil = unknown.
    private func noteExisting(_ reference: OperationReference, _ request: EnqueueInput) async -> OperationState? {
        let details = try? await client.broker.details([reference.id], queue: reference.queue)
        let state = (details?.first ?? nil)?.state
        guard reference.id == request.operation.id else {
            invocation.console.note("\(reference.id) has the unique key; nothing was enqueued")
            return state
        }
        // An enqueue does not run an ended operation again.
        let way = state.flatMap { state in
            switch state {
            case .finished: "; run it again: \(Program.name) rerun \(reference.id)"
            case .dead, .cancelled, .expired: "; run it again: \(Program.name) retry \(reference.id)"
            default: nil
            }
        }
        let stands = state.map { ", \($0.rawValue)" } ?? ""
        invocation.console.note("\(reference.id) exists already\(stands); nothing was changed\(way ?? "")")
        return state
    }

    /// Prints the id. With `--follow`, stdout has the log and the id goes to stderr. With JSON and `--wait`, the ended
    /// operation is printed later instead.
    private func announce(_ reference: OperationReference, _ name: String, waits: Bool) {
        let console = invocation.console
        if invocation.format.isJSON {
            if !waits { console.print(Self.json(reference, name), invocation.format) }
            return
        }
        if verb.follow { return console.note(reference.id.description) }
        console.print(reference.id.description)
    }

    static func json(_ reference: OperationReference, _ name: String) -> JSONValue {
        var fields: [(String, JSONValue)] = [
            ("v", 1),
            ("id", .string(reference.id.description)),
            ("queue", .string(reference.queue)),
            ("name", .string(name)),
            ("isNew", .bool(reference.isNew)),
        ]
        if let isConfirmed = reference.isConfirmed { fields.append(("confirmed", .bool(isConfirmed))) }
        return .object(JSONObject(fields))
    }

    private func wait(_ reference: OperationReference) async throws -> ExitStatus {
        let location = Location(queue: reference.queue, id: reference.id)
        let follower = verb.follow ? Task { try await LogFollower(client, invocation).follow(location) } : nil
        let waiter = EndWaiter(client, console: invocation.console)
        let goesOn = "the operation continues; wait for it: \(Program.name) wait \(location.id)"
        let interrupt = InterruptNote(goesOn, on: invocation.console)
        let detail = try await waiter.wait(for: [location], timeout: verb.waitTimeout)[0]
        if detail?.state.isTerminal ?? true { try await follower?.value } else { follower?.cancel() }
        withExtendedLifetime(interrupt) {}
        guard let detail else { throw CLIError.notFound(reference.id.description, namespace: client.namespace) }
        let report = EndReport([detail], timeout: verb.waitTimeout)
        if invocation.format.isJSON {
            invocation.console.print(OperationJSON.object(detail, invocation.view), invocation.format)
        }
        if let error = report.error { invocation.console.report(error, asJSON: invocation.format.isJSON) }
        return report.status
    }
}

extension Durability {
    /// Warns about stored operations without the requested confirmation.
    func warn(unconfirmed open: Int, _ console: Console) {
        guard open > 0 else { return }
        let who =
            switch self {
            case .none: ""
            case .replicas(let number): " by \(number) \(number == 1 ? "replica" : "replicas")"
            case .disk: " by the append-only file"
            }
        let what = open == 1 ? "it is stored" : "\(QuantityText.grouped(open)) are stored"
        console.warn("\(what), but not yet confirmed\(who); do not send it again")
    }
}
