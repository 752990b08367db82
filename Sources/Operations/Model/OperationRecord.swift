/// A tracked operation as Redis stores it: the header, a fixed-width mutable tail, and the envelope that never changes.
///
/// | bytes (from 0) | field | written as |
/// |---|---|---|
/// | 0–63 | header | see `OperationHeader` |
/// | 64 | state | its letter, `OperationState.code` |
/// | 65–73 | started at | milliseconds of server time, base 36; zero = not yet |
/// | 74–84 | last fence | hexadecimal |
/// | 85 | awaited | `1` once somebody waits for its end |
/// | 86–94 | enqueued at | base 36 |
/// | 95–103 | due at | base 36 |
/// | 104–112 | ended at | base 36 |
/// | 113 | reserved | `0` |
/// | 114… | envelope | JSON |
package struct OperationRecord: Sendable, Equatable {
    package static let headByteCount = 114

    package var header: OperationHeader
    package var state: OperationState
    package var startedAt: Int64
    package var fence: Int64
    package var awaited: Bool
    package var enqueuedAt: Int64
    package var dueAt: Int64
    package var endedAt: Int64
    package var envelope: [UInt8]

    package init(
        header: OperationHeader,
        state: OperationState,
        startedAt: Int64 = 0,
        fence: Int64 = 0,
        awaited: Bool = false,
        enqueuedAt: Int64,
        dueAt: Int64 = 0,
        endedAt: Int64 = 0,
        envelope: [UInt8]
    ) {
        self.header = header
        self.state = state
        self.startedAt = startedAt
        self.fence = fence
        self.awaited = awaited
        self.enqueuedAt = enqueuedAt
        self.dueAt = dueAt
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
            let startedAt = reader.number(9, radix: 36), let fence = reader.number(11, radix: 16),
            let awaited = reader.number(1, radix: 10), let enqueuedAt = reader.number(9, radix: 36),
            let dueAt = reader.number(9, radix: 36), let endedAt = reader.number(9, radix: 36)
        else { throw OperationsError(.malformed, "a record's head cannot be read", id: header.id) }
        self.state = state
        self.startedAt = startedAt
        self.fence = fence
        self.awaited = awaited == 1
        self.enqueuedAt = enqueuedAt
        self.dueAt = dueAt
        self.endedAt = endedAt
        envelope = Array(bytes[Self.headByteCount...])
    }

    /// The number of the current or last run: 0 before the first start.
    package var attempt: Int { state == .executing ? header.failedAttempts + 1 : header.failedAttempts }
}
