/// Reading standing cancels, for all that compare operations with them.
package protocol StandingCancelReading: Sendable {
    /// The standing cancels of a queue that have not ended, by their ids.
    func standingCancels(queue: String) async throws -> StandingCancels
}

/// A cancel that also holds for what comes later: until its end, no operation that matches its query begins.
package struct StandingCancel: Sendable, Equatable {
    /// Most standing cancels of a queue.
    package static let limit = 16
    /// Most bytes of a query.
    package static let queryBytes = 1024

    /// Its number in its queue.
    package var id: Int64
    /// A query with the fields name, tag, args and queue.
    package var query: String
    /// When it ends, milliseconds of server time.
    package var endsAt: Int64
    /// When it was set.
    package var setAt: Int64
    package var by: String
    package var reason: String
    /// How many operations it has cancelled.
    package var caught: Int64

    package init(
        id: Int64,
        query: String,
        endsAt: Int64,
        setAt: Int64,
        by: String,
        reason: String,
        caught: Int64 = 0
    ) {
        self.id = id
        self.query = query
        self.endsAt = endsAt
        self.setAt = setAt
        self.by = by
        self.reason = reason
        self.caught = caught
    }
}

/// The standing cancels of a queue as they were at one moment.
package struct StandingCancels: Sendable, Equatable {
    /// Milliseconds of server time.
    package var time: Int64
    /// Grows with each change.
    package var revision: Int64
    package var cancels: [StandingCancel]

    package init(time: Int64, revision: Int64, cancels: [StandingCancel]) {
        self.time = time
        self.revision = revision
        self.cancels = cancels
    }
}

/// What a new standing cancel needs.
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
