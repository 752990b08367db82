/// A part of the stored events of a queue: all events except enqueues, starts and finishes.
package struct StoredEvents: Sendable, Equatable {
    /// A stored entry.
    package struct Entry: Sendable, Equatable {
        /// Where to continue reading after this entry.
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
    /// The number of the queue's last event at the time of the read, stored or not.
    package var newest: Int64
    /// The time of the oldest stored entry, if older ones may have been dropped.
    package var trimmedBefore: Int64?
    /// The entries, oldest first.
    package var entries: [Entry]
    /// The last entry that was read, even if it could not be decoded; nil = no entry was read.
    package var cursor: String?

    package init(time: Int64, newest: Int64, trimmedBefore: Int64? = nil, entries: [Entry], cursor: String?) {
        self.time = time
        self.newest = newest
        self.trimmedBefore = trimmedBefore
        self.entries = entries
        self.cursor = cursor
    }

    /// The number of entries from which on the oldest are dropped.
    package static let kept = 10_000
}
