/// A part of what is kept of a queue's events: all but enqueues, starts and finishes.
package struct StoredEvents: Sendable, Equatable {
    /// One kept entry.
    package struct Entry: Sendable, Equatable {
        /// Where reading goes on behind it.
        package var cursor: String
        /// Milliseconds of server time.
        package var at: Int64
        package var batch: EventBatch

        package init(cursor: String, at: Int64, batch: EventBatch) {
            self.cursor = cursor
            self.at = at
            self.batch = batch
        }
    }

    /// Milliseconds of server time.
    package var time: Int64
    /// The number of the queue's last event, kept or not, when this was read.
    package var newest: Int64
    /// When the oldest kept entry was stored, if older ones may have been dropped.
    package var trimmedBefore: Int64?
    /// Oldest first.
    package var entries: [Entry]
    /// The last entry that was read, also if it could not be understood; nil = there was none.
    package var cursor: String?

    package init(time: Int64, newest: Int64, trimmedBefore: Int64? = nil, entries: [Entry], cursor: String?) {
        self.time = time
        self.newest = newest
        self.trimmedBefore = trimmedBefore
        self.entries = entries
        self.cursor = cursor
    }

    /// From this many entries on the oldest are dropped.
    package static let kept = 10_000
}
