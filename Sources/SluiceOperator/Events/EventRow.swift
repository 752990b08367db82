import Operations
import TerminalText

/// A transition, with details from the current record.
package struct EventRow {
    package let id: String
    package let state: OperationState
    package private(set) var name = ""
    package private(set) var worker = ""
    package private(set) var by = ""
    package private(set) var reason = ""

    /// Combines a transition with its record.
    ///
    /// - Parameter change: the change of the step; nil if a worker made the step.
    package init(
        _ transition: (id: OperationID, state: OperationState),
        _ detail: OperationDetail?,
        of change: QueueChange?
    ) {
        id = transition.id.description
        state = transition.state
        guard let detail else { return }
        name = detail.envelope.name
        worker = state == .executing ? detail.worker ?? "" : ""
        if change?.verb == .recover, let recovery = detail.recoveries.last(where: { $0.worker == change?.by }) {
            (worker, by) = (recovery.worker, "recovery")
            reason = "\(recovery.place) was lost: \(recovery.cause.sentence)"
            return
        }
        if state == .cancelled, let cancel = detail.cancel { (by, reason) = (cancel.by, cancel.reason) }
        if state == .scheduled, detail.snoozedUntil != nil, let snooze = detail.snooze {
            let why = snooze.reason.isEmpty ? "" : ": \(snooze.reason)"
            reason = "snoozed, \(QuantityText.times(snooze.count))\(why)"
        }
        if [.retrying, .dead].contains(state) { reason = detail.errors.last?.failure.sentence ?? "" }
    }

    package var text: String {
        [name, worker.isEmpty ? "" : "on \(worker)", by.isEmpty ? "" : "by \(by)", reason].filter { !$0.isEmpty }
            .joined(separator: "  ")
    }
}

/// A batch of events as JSON: `docs/schema/event.json`.
package enum EventJSON {
    package static func object(
        _ batch: EventBatch,
        _ rows: [EventRow],
        changed subject: OperationID? = nil,
        at time: Int64,
        isKept: Bool = true
    ) -> JSONValue {
        let counts = batch.counts.sorted { $0.key.rawValue < $1.key.rawValue }
        return [
            "v": 1,
            "queue": .string(batch.queue),
            "from": .number(batch.from),
            "to": .number(batch.to),
            "at": .string(TimeText.rfc3339(time)),
            "kept": .bool(isKept),
            "counts": .object(JSONObject(counts.map { ($0.key.rawValue, .number($0.value)) })),
            "change": batch.change.map { json($0, subject) } ?? .null,
            "transitions": .array(rows.map(json)),
        ]
    }

    private static func json(_ change: QueueChange, _ subject: OperationID?) -> JSONValue {
        [
            "verb": .string(change.verb.rawValue), "by": .string(change.by), "count": .number(change.count),
            "detail": .string(change.detail), "id": JSONValue(subject?.description),
        ]
    }

    private static func json(_ row: EventRow) -> JSONValue {
        func text(_ text: String) -> JSONValue { text.isEmpty ? .null : .string(text) }
        return [
            "id": .string(row.id), "state": .string(row.state.rawValue), "name": text(row.name),
            "worker": text(row.worker), "by": text(row.by), "reason": text(row.reason),
        ]
    }
}

extension OperationDetail {
    /// The name of a worker from which the operation was recovered; nil = unknown.
    package func nameOfLost(worker id: String) -> String? {
        recoveries.last { $0.worker == id && !$0.name.isEmpty }?.name
    }
}
