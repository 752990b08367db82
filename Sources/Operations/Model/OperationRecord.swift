/// A tracked operation as Redis stores it: the header, a fixed-width mutable tail, and the envelope, which only an edit
/// changes.
///
/// | bytes (from 0) | field | written as |
/// |---|---|---|
/// | 0–63 | header | see `OperationHeader` |
/// | 64 | state | its letter, `OperationState.code` |
/// | 65–73 | ended at | milliseconds of server time, base 36; zero = not yet |
/// | 74–82 | started at | base 36; zero = not yet |
/// | 83–93 | last fence | hexadecimal |
/// | 94–97 | number of its worker | base 36; each worker of a queue has one |
/// | 98–106 | enqueued at | base 36 |
/// | 107… | envelope | JSON |
package struct OperationRecord: Sendable, Equatable {
    package static let headByteCount = 107

    package var header: OperationHeader
    package var state: OperationState
    package var startedAt: Int64
    package var fence: Int64
    package var enqueuedAt: Int64
    package var endedAt: Int64
    package var envelope: [UInt8]

    package init(
        header: OperationHeader,
        state: OperationState,
        startedAt: Int64 = 0,
        fence: Int64 = 0,
        enqueuedAt: Int64,
        endedAt: Int64 = 0,
        envelope: [UInt8]
    ) {
        self.header = header
        self.state = state
        self.startedAt = startedAt
        self.fence = fence
        self.enqueuedAt = enqueuedAt
        self.endedAt = endedAt
        self.envelope = envelope
    }

    /// Reads a stored record.
    ///
    /// - Throws: `.malformed` if a field has a character that it does not allow.
    package init(_ bytes: [UInt8]) throws(OperationsError) {
        guard let (header, _) = OperationHeader.salvage(bytes) else {
            throw OperationsError(.malformed, "a record's header cannot be read")
        }
        self.header = header
        var reader = FieldReader(bytes[OperationHeader.byteCount...])
        guard bytes.count >= Self.headByteCount, let code = reader.character(), let state = OperationState(code: code),
            let endedAt = reader.number(9, radix: 36), let startedAt = reader.number(9, radix: 36),
            let fence = reader.number(11, radix: 16), reader.number(4, radix: 36) != nil,
            let enqueuedAt = reader.number(9, radix: 36)
        else { throw OperationsError(.malformed, "a record's head cannot be read", id: header.id) }
        self.state = state
        self.startedAt = startedAt
        self.fence = fence
        self.enqueuedAt = enqueuedAt
        self.endedAt = endedAt
        envelope = Array(bytes[Self.headByteCount...])
    }

    /// The number of the current or last run: 0 before the first start.
    package var attempt: Int {
        state == .executing || state == .finished ? header.failedAttempts + 1 : header.failedAttempts
    }

    /// The time at which the operation is or was due; 0 if it was ready at once.
    package var dueAt: Int64 { header.readyAt > enqueuedAt ? header.readyAt : 0 }
}
