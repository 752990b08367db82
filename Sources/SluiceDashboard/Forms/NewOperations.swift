import Hummingbird
import Operations
import Sluice
import SluiceOperator

/// Enqueues operations from forms.
struct NewOperations: Sendable {
    let site: Site

    /// The header with the name of the person who enqueues an operation.
    static let author = "enqueued-by"

    /// The result of an enqueue that was understood.
    enum Outcome {
        case enqueued(Response)
        /// Another operation has the unique key.
        case taken(OperationID)
    }

    /// Adds the person's name to headers; a name that no header may have is left out.
    static func signed(_ headers: [String: String], by name: String) -> [String: String] {
        var all = headers
        all[author] = name
        guard !HeaderRule.allows(all) else { return all }
        all[author] = nil
        return all
    }

    /// Reads the queue of a form.
    func queue(_ form: inout TypedForm) async throws -> String {
        let queue = form.line("queue")
        guard form.read("queue", { try NameRule.check(queue, role: "queue") }) != nil else { return queue }
        guard try await !site.broker.queues().contains(queue), form.fields["newqueue"] == nil else { return queue }
        form.refuse("queue", "There is no queue \(queue). Correct the name, or confirm the new queue.")
        return queue
    }

    /// The id that the form was made with, so that a form that is sent twice enqueues once.
    func id(_ form: TypedForm) throws(PageFailure) -> OperationID {
        guard let id = form.fields["id"].flatMap({ OperationID($0) }) else {
            throw .badRequest("The form has no id. Open it again.")
        }
        return id
    }

    /// The event of an enqueue by a person.
    func change(_ form: TypedForm, rerunOf origin: OperationDetail? = nil, by name: String) -> QueueChange {
        QueueChange(
            enqueued: form.line("name"),
            rerunOf: origin.map { OperationAddress(queue: $0.queue, id: $0.id) },
            by: name,
            from: site.options.machine
        )
    }

    /// The start of a form as milliseconds to wait.
    func delay(_ start: TypedForm.Start?, _ form: inout TypedForm) async throws -> Int64 {
        switch start {
        case nil: return 0
        case .delay(let delay): return delay.wholeMilliseconds
        case .at(let time):
            let now = try await serverTime(form.line("queue"))
            return form.read("start") {
                guard time > now else { throw OperationsError(.invalidOption, "This time is in the past.") }
                return try TimeLimit.delay(until: Double(time), now: now)
            } ?? 0
        }
    }

    /// The server's time. A queue that does not exist must not be asked.
    private func serverTime(_ queue: String) async throws -> Int64 {
        let known = try await site.broker.queues()
        guard let queue = known.contains(queue) ? queue : known.first else {
            throw PageFailure(
                status: .conflict,
                title: "Nothing was enqueued",
                message: "Without a queue, the server's time is not known. Write the time to wait, such as 10m."
            )
        }
        return try await site.broker.snapshot(queue: queue, executingRows: 0).time
    }

    /// - Parameter change: the event of the enqueue.
    /// - Throws: `PageFailure` if the form was sent before, or if it is not known whether the operation was stored;
    ///   `OperationsError` if the operation is refused.
    func enqueue(
        _ operation: NewOperation,
        queue: String,
        _ change: QueueChange,
        _ notice: OutcomeNotice
    ) async throws -> Outcome {
        let reference: OperationReference
        do { reference = try await site.client.enqueue([operation], queue: queue)[0] } catch let error
            as OperationsError where error.code == .outcomeUnknown
        {
            site.unknownOutcomes.add(operation.id)
            throw PageFailure(
                status: .serviceUnavailable,
                title: "The operation may have been enqueued",
                message: "Redis was asked, and then: \(error.message)",
                notes: ["Go back and send the form again: it enqueues the operation only once."]
            )
        }
        let wasUnknown = site.unknownOutcomes.remove(operation.id)
        let isNew = reference.isNew || (wasUnknown && reference.id == operation.id)
        // The operation is enqueued, also if its event cannot be stored.
        if isNew { try? await site.broker.noteEvent(change, of: reference.id, queue: queue) }
        await site.loop.expire()
        guard reference.id == operation.id else { return .taken(reference.id) }
        guard isNew else { throw sentBefore(operation.id, queue) }
        let query: KeyValuePairs<String, String?> = ["queue": queue, "outcome": notice.rawValue]
        return .enqueued(Response.seeOther(site.links.to("ops", operation.id.description, query: query)))
    }

    private func sentBefore(_ id: OperationID, _ queue: String) -> PageFailure {
        var failure = PageFailure(
            status: .conflict,
            title: "This is already enqueued",
            message: "The form was sent before. Nothing was enqueued again.",
            command: ["show", "\(queue)/\(id)"]
        )
        failure.next = .init(
            link: site.links.to("ops", id.description, query: ["queue": queue]),
            title: "The operation"
        )
        return failure
    }
}
