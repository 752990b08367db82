import Operations
import TerminalText

/// Makes JSON objects of operations: `docs/schema/operation.json`.
package enum OperationJSON {
    package static func object(_ detail: OperationDetail, _ view: PayloadView) -> JSONValue {
        let record = detail.record
        let reading = detail.reading(view)
        let envelope = reading.envelope
        return [
            "v": 1,
            "id": .string(record.header.id.description),
            "name": .string(envelope.name),
            "queue": .string(detail.queue),
            "state": .string(detail.state.rawValue),
            "priority": .string(record.header.priority.rawValue),
            "tags": .array(envelope.tags.map { .string($0) }),
            "headers": OperationEnvelope.object(of: envelope.headers),
            "attempt": .number(record.attempt),
            "maxAttempts": .number(envelope.maxAttempts),
            "delivery": .number(record.header.delivery),
            "fence": record.fence == 0 ? .null : .number(record.fence),
            "worker": JSONValue(detail.worker),
            "ranOn": JSONValue(detail.ranOn),
            "enqueuedAt": time(record.enqueuedAt),
            "dueAt": time(record.dueAt),
            "expiresAt": time(record.header.expiresAt),
            "startedAt": time(record.startedAt),
            "endedAt": time(record.endedAt),
            "runTimeoutMilliseconds": JSONValue(envelope.runTimeout?.wholeMilliseconds),
            "progress": progress(detail),
            "arguments": reading.hiddenArguments == nil ? json(envelope.arguments) : .null,
            "encryptedWith": JSONValue(envelope.encryptionKey),
            "signedWith": JSONValue(envelope.signingKey),
            "quarantine": quarantine(reading.failure),
            "result": detail.result(view).map(json) ?? .null,
            "error": detail.errors.last.map(error) ?? .null,
            "errors": .array(detail.errors.map(error)),
            "dependencies": .array(detail.links.needs.map(need)),
            "dependencyCount": .number(detail.links.needCount),
            "unmetCount": .number(detail.links.unmetCount),
            "dependents": .array(detail.links.dependents.map { .string($0.description) }),
            "dependentCount": .number(detail.links.dependentCount),
            "dependentQueues": .array(detail.links.dependentQueues.map { .string($0) }),
            "rerunOf": JSONValue(envelope.rerunOf?.description),
            "schedule": JSONValue(envelope.schedule),
            "cancel": cancel(detail.cancel),
            "unique": unique(detail),
            "snooze": snooze(detail),
            "yields": .number(detail.yields),
            "recoveries": .array(detail.recoveries.map(recovery)),
            "once": .array(detail.stored.once.keys.sorted().map { .string($0) }),
            "hold": detail.hold.map { $0.json } ?? .null,
            "unhandled": .bool(detail.isUnhandled),
            "limitKey": JSONValue(detail.limitKey),
            "group": group(detail, view),
        ]
    }

    private static func group(_ detail: OperationDetail, _ view: PayloadView) -> JSONValue {
        guard let progress = GroupProgress(detail) else { return .null }
        return [
            "name": JSONValue(detail.groupName(view)), "open": .bool(progress.isOpen),
            "members": .number(progress.total), "ended": .number(progress.ended), "failed": .number(progress.failed),
        ]
    }

    private static func need(_ need: OperationNeeds.Need) -> JSONValue {
        [
            "id": .string(need.dependency.id.description), "queue": JSONValue(need.dependency.queue),
            "onFailure": .string(need.dependency.policy.rawValue),
            "isMet": .bool(need.isMet), "state": JSONValue(need.state?.rawValue),
        ]
    }

    private static func unique(_ detail: OperationDetail) -> JSONValue {
        guard let key = detail.uniqueKey else { return .null }
        return [
            "key": .string(key), "waits": .bool(detail.waitsForTurn),
            "holder": JSONValue(detail.keyHolder?.description),
        ]
    }

    /// A time as RFC 3339; zero becomes null.
    package static func time(_ milliseconds: Int64) -> JSONValue {
        milliseconds > 0 ? .string(TimeText.rfc3339(milliseconds)) : .null
    }

    package static func cancel(_ trace: CancelTrace?) -> JSONValue {
        guard let trace else { return .null }
        return [
            "requestedAt": time(trace.requestedAt),
            "acknowledgedAt": time(trace.acknowledgedAt ?? 0),
            "stoppedAt": time(trace.stoppedAt ?? 0),
            "reason": .string(trace.reason),
            "by": .string(trace.by),
            "forced": trace.forced.map(forced) ?? .null,
            "standing": trace.standing.map { .number(Int($0)) } ?? .null,
        ]
    }

    private static func snooze(_ detail: OperationDetail) -> JSONValue {
        guard let snooze = detail.snooze else { return .null }
        return [
            "count": .number(snooze.count), "until": time(detail.snoozedUntil ?? 0), "reason": .string(snooze.reason),
        ]
    }

    private static func recovery(_ recovery: Recovery) -> JSONValue {
        [
            "at": time(recovery.at), "startedAt": time(recovery.startedAt), "attempt": .number(recovery.attempt),
            "delivery": .number(recovery.delivery), "cause": .string(recovery.cause.rawValue),
            "worker": .string(recovery.worker), "name": .string(recovery.name), "host": .string(recovery.host),
        ]
    }

    private static func forced(_ forced: CancelTrace.Forced) -> JSONValue {
        [
            "at": time(forced.at), "by": .string(forced.by), "reason": .string(forced.reason),
            "worker": .string(forced.worker),
        ]
    }

    /// Parses stored bytes. Invalid JSON becomes a string.
    package static func json(_ bytes: [UInt8]) -> JSONValue {
        guard !bytes.isEmpty else { return .null }
        let limits = JSONLimits(maximumBytes: 4 << 20, maximumDepth: 512, duplicateKeys: .lastWins)
        return (try? JSONValue(parsing: bytes, limits: limits)) ?? .string(String(decoding: bytes, as: UTF8.self))
    }

    private static func quarantine(_ failure: SealFailure?) -> JSONValue {
        guard let failure else { return .null }
        return ["type": .string(failure.code.rawValue), "message": .string(failure.message)]
    }

    private static func progress(_ detail: OperationDetail) -> JSONValue {
        guard let progress = detail.progress else { return .null }
        return ["fraction": JSONValue(progress.fraction), "message": .string(progress.message)]
    }

    private static func error(_ attempt: FailedAttempt) -> JSONValue {
        let failure = attempt.failure
        var object: JSONObject = JSONObject([
            ("type", .string(failure.type)),
            ("message", .string(failure.message)),
            ("attempt", .number(failure.attempt)),
            ("delivery", .number(failure.delivery)),
            ("at", time(attempt.at)),
        ])
        if let verdict = failure.verdict { object["verdict"] = .string(verdict.rawValue) }
        if let details = failure.details {
            object["details"] = .object(
                JSONObject(details.sorted { $0.key < $1.key }.map { ($0.key, .number($0.value)) })
            )
        }
        return .object(object)
    }
}
