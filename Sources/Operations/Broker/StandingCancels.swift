/// Reads standing cancels, to compare operations with them.
package protocol StandingCancelReading: Sendable {
    /// Returns the standing cancels of a queue that have not ended, in the order of their ids.
    func standingCancels(queue: String) async throws -> StandingCancels
}

/// A cancel that also applies to later operations: until its end, no operation that matches its query begins.
package struct StandingCancel: Sendable, Equatable {
    /// The most standing cancels of a queue.
    package static let limit = 16
    /// The most bytes of a query.
    package static let queryBytes = 1024

    /// The number of the standing cancel in its queue.
    package var id: Int64
    /// A query with the fields name, tag, args and queue.
    package var query: String
    /// The end, in milliseconds of server time.
    package var endsAt: Int64
    /// The time of the setting, in milliseconds of server time.
    package var setAt: Int64
    package var by: String
    package var reason: String
    /// The number of operations that this cancelled.
    package var cancelled: Int64

    package init(
        id: Int64,
        query: String,
        endsAt: Int64,
        setAt: Int64,
        by: String,
        reason: String,
        cancelled: Int64 = 0
    ) {
        self.id = id
        self.query = query
        self.endsAt = endsAt
        self.setAt = setAt
        self.by = by
        self.reason = reason
        self.cancelled = cancelled
    }
}

/// The standing cancels of a queue at one moment.
package struct StandingCancels: Sendable, Equatable {
    /// Milliseconds of server time.
    package var time: Int64
    /// A number that grows with each change.
    package var revision: Int64
    package var cancels: [StandingCancel]

    package init(time: Int64, revision: Int64, cancels: [StandingCancel]) {
        self.time = time
        self.revision = revision
        self.cancels = cancels
    }
}

/// A standing cancel to set.
package struct NewStandingCancel: Sendable, Equatable {
    package var query: String
    package var milliseconds: Int64
    package var by: String
    package var reason: String

    package init(query: String, milliseconds: Int64, by: String, reason: String) {
        self.query = query
        self.milliseconds = milliseconds
        self.by = by
        self.reason = reason
    }
}
