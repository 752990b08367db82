import Operations

/// The instants of a recurrence, in milliseconds since 1970. Each call does a bounded amount of work.
package struct Instants: Sendable, Equatable {
    private enum Rule: Equatable {
        case every(interval: Int64, anchor: Int64)
        case cron(CronExpression, Zone)
    }

    private let rule: Rule

    /// - Parameter anchor: the instant from which equal intervals are counted.
    /// - Throws: `.invalidOption` for an invalid interval, expression or zone.
    package init(_ recurrence: Recurrence, anchor: Int64) throws(OperationsError) {
        switch recurrence.form {
        case .every(let interval):
            guard (Recurrence.shortest...Recurrence.longest).contains(interval) else {
                throw OperationsError(
                    .invalidOption,
                    "the interval is \(Duration.milliseconds(interval)); expected 1 second to 10 years"
                )
            }
            rule = .every(interval: interval, anchor: anchor)
        case .cron(let expression, let zone):
            rule = .cron(try CronExpression(expression), try Zone(zone))
        case .invalid(let time):
            throw OperationsError(
                .invalidOption,
                "the time of day is \(OperationsError.quoted(time)); expected 00:00 to 23:59"
            )
        }
    }

    /// The first instant after this one; nil if no instant follows for decades.
    package func next(after instant: Int64) -> Int64? {
        switch rule {
        case .every(let interval, let anchor):
            return anchor + ((instant - anchor).floored(by: interval) + 1) * interval
        case .cron(let expression, let zone):
            let second = instant.floored(by: 1000)
            let next =
                expression.runsByElapsedTime
                ? zone.nextShown(expression, after: second) : zone.nextOnce(expression, after: second)
            return next.map { $0 * 1000 }
        }
    }

    /// The last instant at or before this one, but not before `first`, which must be an instant.
    package func last(from first: Int64, upTo instant: Int64) -> Int64 {
        var low = first - 1  // next(after: low) is at or before the instant
        var high = instant  // next(after: high) is after the instant
        while high - low > 1 {
            let middle = low + (high - low) / 2
            if let next = next(after: middle), next <= instant { low = middle } else { high = middle }
        }
        return next(after: low) ?? first
    }
}

extension Zone {
    /// The next instant of an expression with a fixed time. Each local time runs once, even if the clocks skip it or
    /// show it twice.
    fileprivate func nextOnce(_ expression: CronExpression, after second: Int64) -> Int64? {
        expression.match(from: nextLocal(after: second)).map(instant(ofLocal:))
    }

    /// The next instant at which the clocks show a matching time. A skipped time does not run, and a time that is shown
    /// twice runs twice.
    fileprivate func nextShown(_ expression: CronExpression, after second: Int64) -> Int64? {
        var from = second + 1
        while let match = expression.match(from: local(at: from)) {
            let candidate = match - offset(at: from)
            if let change = change(after: from, upTo: candidate) {
                if candidate < change { return candidate }
                from = change
            } else if local(at: candidate) == match {
                return candidate
            } else {
                // The clocks change before a match that is days away. The search continues near the match.
                from = candidate - Self.probe
            }
        }
        return nil
    }
}
