import Operations

extension ScheduleDefinition {
    /// The delay by server time from which an instant counts as missed. Instants that are less late are enqueued.
    package static let missedMilliseconds: Int64 = 60_000

    private var instants: Instants? { try? Instants(recurrence, anchor: anchor) }
    private var end: Int64 { rules.end?.milliseconds ?? .max }

    /// The first instant after this one, between start and end; nil if no instant is left.
    package func next(after instant: Int64) -> Int64? {
        // The start itself is an instant if it matches the recurrence.
        let after = max(instant, (rules.start?.milliseconds ?? .min) - (rules.start == nil ? 0 : 1))
        return instants?.next(after: after).flatMap { $0 <= end ? $0 : nil }
    }

    /// The next instants, for a preview.
    package func next(_ count: Int, after instant: Int64) -> [Int64] {
        var (found, last) = ([Int64](), instant)
        while found.count < count, let next = next(after: last) {
            found.append(next)
            last = next
        }
        return found
    }

    /// The last instants up to this one, oldest first: fewer if the schedule has fewer within four years.
    package func last(_ count: Int, upTo instant: Int64) -> [Int64] {
        // Instants can be found forwards only, so the search begins earlier and earlier.
        let longest: Int64 = 4 * 366 * 86_400_000
        var span = min(longest, Int64(count) * (recurrence.interval ?? 60_000))
        while true {
            var (found, last) = ([Int64](), instant - span)
            while let next = next(after: last), next <= instant {
                found.append(next)
                last = next
            }
            if found.count >= count || span >= longest { return found.suffix(count) }
            span = min(longest, span * 2)
        }
    }

    /// The id of the operation of an instant.
    package static func operationID(schedule: String, queue: String, instant: Int64) -> OperationID {
        OperationID(milliseconds: UInt64(max(0, instant)), key: "schedule\n\(queue)\n\(schedule)\n\(instant)")
    }

    /// The step to take when an instant has come.
    package struct Step: Sendable, Equatable {
        /// The instant whose operation is enqueued; nil = no operation.
        package var enqueued: Int64?
        /// The next instant; nil = the schedule is over.
        package var next: Int64?
        package var hasMissed = false
    }

    /// Returns the step for an instant that has come.
    ///
    /// - Parameters:
    ///   - due: the instant that was set.
    ///   - now: server time, not before `due`.
    package func step(due: Int64, now: Int64) -> Step {
        guard now - due >= Self.missedMilliseconds else { return Step(enqueued: due, next: next(after: due)) }
        switch rules.misfire {
        case .skip: return Step(enqueued: nil, next: next(after: now), hasMissed: true)
        case .latest:
            let latest = instants?.last(from: due, upTo: min(now, end)) ?? due
            return Step(enqueued: latest, next: next(after: latest), hasMissed: latest != due)
        }
    }

    /// Returns the operation of an instant. Schedule and instant determine the id, and the id determines the jitter.
    ///
    /// - Parameters:
    ///   - seal: signs and encrypts; nil = without keys.
    ///   - now: server time, from which a delay is counted.
    package func operation(
        schedule: String,
        queue: String,
        instant: Int64,
        now: Int64
    ) -> NewOperation {
        let id = Self.operationID(schedule: schedule, queue: queue, instant: instant)
        return NewOperation(
            id: id,
            priority: priority,
            delayMilliseconds: max(0, instant + offset(id) - now),
            expiresMilliseconds: expiresMilliseconds,
            envelope: envelope(of: schedule),
            links: links(of: schedule)
        )
    }

    /// The envelope of an operation, with the name of its schedule.
    package func envelope(of schedule: String) -> [UInt8] {
        envelope.dropLast() + Array(#","schedule":"\#(schedule)"}"#.utf8)  // NameRule allows nothing that JSON escapes
    }

    /// The unique key of the schedule's operations.
    package static func uniqueKey(of schedule: String) -> String { "schedule:\(schedule)" }

    package func links(of schedule: String) -> OperationLinks? {
        OperationLinks(
            unique: rules.ifExists.map { UniqueClaim(key: Self.uniqueKey(of: schedule), policy: $0.policy) }
        )
    }

    private func offset(_ id: OperationID) -> Int64 {
        let jitter = rules.jitter.wholeMilliseconds
        return jitter > 0 ? Int64(id.low % UInt64(jitter + 1)) : 0
    }
}
