import Operations
import TerminalText

/// The statistics of a namespace as a JSON object: `docs/schema/stats.json`, for `stats`, `stat` and `monitor --once`.
package enum StatsJSON {
    /// - Parameters:
    ///   - snapshot: the namespace.
    ///   - namespace: the name of the namespace.
    package static func object(_ snapshot: NamespaceSnapshot, namespace: String) -> JSONValue {
        let workers = WorkerSummary.merge(snapshot.queues).filter { !$0.isLost }
        return [
            "v": 1,
            "time": JSONValue(snapshot.time.map(TimeText.rfc3339)),
            "namespace": .string(namespace),
            "counts": counts(snapshot.counts),
            "totals": totals(snapshot.totals),
            "queues": .array(snapshot.queues.map(queue)),
            "absentNodes": AbsentNode.json(snapshot.absent),
            "writeRefusals": WriteRefusal.json(snapshot.refusals),
            "workers": .number(workers.count),
            "slots": .number(workers.reduce(0) { $0 + ($1.info?.slots ?? 0) }),
        ]
    }

    /// The object of one queue.
    package static func queue(_ snapshot: QueueSnapshot) -> JSONValue {
        let pausedUntil = snapshot.paused ? snapshot.pausedUntil : nil
        return [
            "name": .string(snapshot.queue),
            "paused": .bool(snapshot.paused),
            "pausedUntil": JSONValue(pausedUntil.map(TimeText.rfc3339)),
            "pause": snapshot.pause.map { $0.json } ?? .null,
            "limits": limits(snapshot.limits),
            "schedules": [
                "count": .number(snapshot.schedules.count),
                "next": JSONValue(snapshot.schedules.next.map(TimeText.rfc3339)),
            ],
            "counts": counts(snapshot.counts),
            "totals": totals(snapshot.totals),
            "oldestReadySeconds": JSONValue(snapshot.oldestReadyMilliseconds.map { Double($0) / 1000 }),
            "workers": .number(snapshot.liveWorkers.count),
            "unhandled": unhandled(snapshot),
            "limitKeys": limitKeys(snapshot),
        ]
    }

    private static func limits(_ limits: QueueLimits) -> JSONValue {
        [
            "concurrency": JSONValue(limits.concurrency),
            "rate": rate(limits.rate),
            "perKey": limit(limits.perKey),
            "keys": .object(JSONObject(limits.keys.sorted { $0.key < $1.key }.map { ($0.key, limit($0.value)) })),
        ]
    }

    private static func limit(_ limit: KeyLimit) -> JSONValue {
        ["concurrency": JSONValue(limit.concurrency), "weight": JSONValue(limit.weight), "rate": rate(limit.rate)]
    }

    private static func rate(_ rate: QueueRate?) -> JSONValue {
        guard let rate else { return .null }
        return [
            "count": .number(rate.count), "periodSeconds": JSONValue(rate.period.inSeconds),
            "burst": .number(rate.burst),
        ]
    }

    /// The number of limit keys with ready operations, and the keys with the most.
    private static func limitKeys(_ snapshot: QueueSnapshot) -> JSONValue {
        let top = snapshot.limitKeys.map { row -> JSONValue in
            [
                "key": .string(row.key), "ready": .number(row.ready), "waiting": .number(row.waiting),
                "executing": .number(row.executing),
                "nextStartSeconds": JSONValue(row.nextStartMilliseconds.map { Double($0) / 1000 }),
            ]
        }
        return ["count": .number(snapshot.limitKeyCount), "top": .array(top)]
    }

    /// The number of operations that wait for a worker that handles their name, and the names with the most.
    private static func unhandled(_ snapshot: QueueSnapshot) -> JSONValue {
        let names = snapshot.unhandledNotes.map { note -> JSONValue in
            [
                "name": .string(note.name), "count": .number(note.count), "known": .bool(note.isKnown),
                "reason": .string(note.reason),
            ]
        }
        return [
            "count": .number(snapshot.unhandledCount),
            "names": .number(snapshot.unhandledNames),
            "largest": .array(names),
        ]
    }

    /// The counts of all states, in the order of an operation's life.
    package static func counts(_ counts: [OperationState: Int]) -> JSONValue {
        let order: [OperationState] = [
            .ready, .scheduled, .blocked, .executing, .retrying, .finished, .dead, .cancelled, .expired,
        ]
        return .object(JSONObject(order.map { ($0.rawValue, .number(counts[$0] ?? 0)) }))
    }

    /// The known totals, even if they are zero, then other totals of the server.
    package static func totals(_ totals: [String: Int64]) -> JSONValue {
        let known = [
            "enqueued", "started", "finished", "retried", "dead", "cancelled", "expired", "recovered", "returned",
            "removed",
        ]
        let others = totals.keys.filter { !known.contains($0) }.sorted()
        return .object(JSONObject((known + others).map { ($0, .number(totals[$0] ?? 0)) }))
    }
}

extension OperatorTrace {
    /// The time, the author and the reason.
    package var json: JSONValue {
        ["at": .string(TimeText.rfc3339(at)), "by": .string(by), "reason": .string(reason)]
    }
}

/// Makes the JSON object of a queue.
package enum QueueJSON {
    package static func object(_ snapshot: QueueSnapshot) -> JSONValue {
        guard let members = StatsJSON.queue(snapshot).objectValue?.members else { return .null }
        return .object(JSONObject([("v", 1)] + members.map { ($0.key, $0.value) }))
    }
}
