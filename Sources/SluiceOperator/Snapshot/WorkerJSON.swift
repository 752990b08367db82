import Operations

/// Makes JSON objects of workers: `docs/schema/worker.json`.
package enum WorkerJSON {
    package static func object(_ worker: WorkerSummary, _ executing: [ExecutingSummary]? = nil) -> JSONValue {
        let info = worker.info
        var object = JSONObject([
            ("v", 1),
            ("id", .string(worker.id)),
            ("name", JSONValue(info?.name)),
            ("host", JSONValue(info?.host)),
            ("pid", JSONValue(info?.pid)),
            ("version", JSONValue(info?.version)),
            ("build", JSONValue(info?.build)),
            ("state", .string(worker.phase)),
            ("queues", .array(worker.servedQueues.map { .string($0) })),
            ("handles", .array((info?.handles ?? []).map { .string($0) })),
            ("slots", JSONValue(info?.slots)),
            ("executing", .number(worker.inFlight)),
            ("finished", JSONValue(info?.finished)),
            ("failed", JSONValue(info?.failed)),
            ("cancelled", JSONValue(info?.cancelled)),
            ("malformed", JSONValue(info?.malformed)),
            ("stuck", JSONValue(info?.stuck)),
            ("residentBytes", JSONValue(info?.residentBytes)),
            ("startedAt", info.map { OperationJSON.time($0.startedAt) } ?? .null),
            ("beatAgeMilliseconds", JSONValue(worker.beatAgeMilliseconds)),
            ("leaseMilliseconds", .number(worker.leaseMilliseconds)),
            ("settings", settings(worker.settings)),
        ])
        if let executing {
            object["operations"] = .array(
                executing.map {
                    ["id": .string($0.id.description), "queue": .string($0.queue), "name": .string($0.row.name)]
                }
            )
        }
        return .object(object)
    }

    /// The settings that operators have made: value, time and operator.
    private static func settings(_ settings: WorkerSettings) -> JSONValue {
        func object(_ value: JSONValue, _ at: Int64, _ by: String) -> JSONValue {
            ["value": value, "at": OperationJSON.time(at), "by": .string(by)]
        }
        return [
            "course": settings.course.map { object(.string($0.value.rawValue), $0.at, $0.by) } ?? .null,
            "slots": settings.slots.map { object(.number($0.value), $0.at, $0.by) } ?? .null,
        ]
    }

    /// Makes the object of a lost worker: `docs/schema/lost-worker.json`.
    package static func object(_ worker: LostSummary) -> JSONValue {
        let info = worker.info
        return [
            "v": 1,
            "id": .string(worker.id),
            "name": JSONValue(info?.name),
            "host": JSONValue(info?.host),
            "pid": JSONValue(info?.pid),
            "version": JSONValue(info?.version),
            "build": JSONValue(info?.build),
            "state": "lost",
            "queues": .array(worker.queues.map { .string($0) }),
            "startedAt": info.map { OperationJSON.time($0.startedAt) } ?? .null,
            "beatAt": worker.beatAt > 0 ? OperationJSON.time(worker.beatAt) : .null,
            "lostAt": OperationJSON.time(worker.lostAt),
            "recoveredAt": OperationJSON.time(worker.recoveredAt),
            "recovered": .number(worker.recovered),
            "dead": .number(worker.dead),
            "cancelled": .number(worker.cancelled),
            "operations": .array(
                worker.operations.map { ["id": .string($0.id.description), "queue": .string($0.queue)] }
            ),
        ]
    }
}
