import Operations

/// The instants of a recurrence, in milliseconds since 1970. The work of each call is bounded.
package struct Instants: Sendable, Equatable {
    private enum Rule: Equatable {
        case every(interval: Int64, anchor: Int64)
        case cron(CronExpression, Zone)
    }

    private let rule: Rule

    /// - Parameter anchor: an instant from which equal times are counted.
    /// - Throws: `.invalidOption` for an interval, an expression or a zone that cannot be one.
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
        }
    }

    /// The first instant behind this one; nil if there is none for decades.
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

    /// The last instant up to this one, and not before `first`, which is an instant itself.
    package func last(from first: Int64, upTo instant: Int64) -> Int64 {
        var low = first - 1  // next(after: low) is not behind the instant
        var high = instant  // next(after: high) is
        while high - low > 1 {
            let middle = low + (high - low) / 2
            if let next = next(after: middle), next <= instant { low = middle } else { high = middle }
        }
        return next(after: low) ?? first
    }
}

extension Zone {
    /// The next instant of an expression with a fixed time: each local time runs once, also one that the clocks skip or show twice.
    fileprivate func nextOnce(_ expression: CronExpression, after second: Int64) -> Int64? {
        expression.match(from: nextLocal(after: second)).map(instant(ofLocal:))
    }

    /// The next instant at which the clocks show a time that the expression matches: a time that they skip does not run, and one that they show
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
                // The clocks change before a match that is days away: they are asked again near it.
                from = candidate - Self.probe
            }
        }
        return nil
    }
}
