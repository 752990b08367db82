/// The first 64 bytes of each element and record: ASCII at fixed offsets, so that a script uses `string.sub` and never
/// parses.
///
/// | bytes (from 0) | field | written as |
/// |---|---|---|
/// | 0 | version | `1` |
/// | 1 | flags | hexadecimal digit, bit 0 = tracked, bit 1 = linked to others, bit 2 = it has a limit key |
/// | 2 | lane | `0` veryLow … `4` veryHigh |
/// | 3 | revision | base 36 digit |
/// | 4–6 | attempts that failed so far | decimal |
/// | 7–8 | delivery | decimal |
/// | 9–17 | ready at | milliseconds of server time, base 36; a delay when a client sends it |
/// | 18–26 | expires at | the same; zero = never |
/// | 27–37 | sequence in its queue | hexadecimal |
/// | 38–63 | id | ULID |
package struct OperationHeader: Sendable, Equatable {
    package static let byteCount = 64
    /// The number of bytes before the sequence. Operations with equal options have equal fronts.
    package static let frontByteCount = 27
    package static let version = UInt8(ascii: "1")
    private static let idOffset = byteCount - OperationID.characterCount

    package var tracked: Bool
    /// Whether the operation has links to others: a unique key, a limit key, or a dependency on either side.
    package var linked: Bool
    package var hasLimitKey: Bool
    package var priority: OperationPriority
    package var revision: Int
    /// Attempts that failed so far. While the operation runs, its attempt is one more.
    package var failedAttempts: Int
    package var delivery: Int
    /// Milliseconds: server time in a stored header, a delay in one that is being sent.
    package var readyAt: Int64
    /// Milliseconds, counted like `readyAt`; 0 = never.
    package var expiresAt: Int64
    package var sequence: Int64
    package var id: OperationID

    package init(
        id: OperationID,
        tracked: Bool = true,
        linked: Bool = false,
        hasLimitKey: Bool = false,
        priority: OperationPriority = .normal,
        revision: Int = 0,
        failedAttempts: Int = 0,
        delivery: Int = 1,
        readyAt: Int64 = 0,
        expiresAt: Int64 = 0,
        sequence: Int64 = 0
    ) {
        self.id = id
        self.tracked = tracked
        self.linked = linked
        self.hasLimitKey = hasLimitKey
        self.priority = priority
        self.revision = revision
        self.failedAttempts = failedAttempts
        self.delivery = delivery
        self.readyAt = readyAt
        self.expiresAt = expiresAt
        self.sequence = sequence
    }

    /// Reads the header at the beginning of an element or a record.
    ///
    /// - Throws: `.malformed` if the bytes are too few, have another version, or have a character that their field does
    ///   not allow.
    package init(_ bytes: [UInt8]) throws(OperationsError) {
        guard bytes.count >= Self.byteCount else { throw Self.malformed("only \(bytes.count) bytes") }
        var reader = FieldReader(bytes[...])
        guard reader.character() == Self.version else { throw Self.malformed("another version") }
        guard let flags = reader.number(1, radix: 16), let lane = reader.number(1, radix: 10),
            let priority = OperationPriority(lane: Int(lane)), let revision = reader.number(1, radix: 36),
            let failed = reader.number(3, radix: 10), let delivery = reader.number(2, radix: 10),
            let readyAt = reader.number(9, radix: 36), let expiresAt = reader.number(9, radix: 36),
            let sequence = reader.number(11, radix: 16), let id = reader.id()
        else { throw Self.malformed("a field has a character that it does not allow") }
        self.init(
            id: id,
            tracked: flags & 1 == 1,
            linked: flags & 2 == 2,
            hasLimitKey: flags & 4 == 4,
            priority: priority,
            revision: Int(revision),
            failedAttempts: Int(failed),
            delivery: Int(delivery),
            readyAt: readyAt,
            expiresAt: expiresAt,
            sequence: sequence
        )
    }

    /// Reads as much as possible of a damaged header. The id and the flags have the same place in each version.
    ///
    /// - Returns: the header, and the fault that was found; nil without an id.
    package static func salvage(_ bytes: [UInt8]) -> (header: OperationHeader, fault: String?)? {
        do {
            return (try OperationHeader(bytes), nil)
        } catch {
            guard bytes.count >= byteCount, let id = OperationID(utf8: bytes[idOffset..<byteCount]) else { return nil }
            return (OperationHeader(id: id, tracked: bytes[1] != UInt8(ascii: "0")), error.message)
        }
    }

    /// Appends the 64 bytes.
    package func write(into bytes: inout [UInt8]) {
        writeFront(into: &bytes)
        FieldWriter.append(sequence, width: 11, radix: 16, to: &bytes)
        FieldWriter.append(id, to: &bytes)
    }

    /// Appends the front: all but the sequence and the id.
    package func writeFront(into bytes: inout [UInt8]) {
        bytes.append(Self.version)
        bytes.append(UInt8(ascii: "0") + (tracked ? 1 : 0) + (linked ? 2 : 0) + (hasLimitKey ? 4 : 0))
        bytes.append(UInt8(ascii: "0") + UInt8(priority.lane))
        FieldWriter.append(Int64(revision), width: 1, radix: 36, to: &bytes)
        FieldWriter.append(Int64(failedAttempts), width: 3, radix: 10, to: &bytes)
        FieldWriter.append(Int64(delivery), width: 2, radix: 10, to: &bytes)
        FieldWriter.append(readyAt, width: 9, radix: 36, to: &bytes)
        FieldWriter.append(expiresAt, width: 9, radix: 36, to: &bytes)
    }

    private static func malformed(_ why: String) -> OperationsError {
        OperationsError(.malformed, "an operation's header cannot be read: \(why)")
    }
}

/// Reads fixed-width fields in order. Not generic, because other modules call it for each operation and could not
/// specialize it.
package struct FieldReader {
    private let bytes: ArraySlice<UInt8>
    private var index: Int

    package init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        index = bytes.startIndex
    }

    package mutating func character() -> UInt8? {
        guard index < bytes.endIndex else { return nil }
        defer { index += 1 }
        return bytes[index]
    }

    package mutating func number(_ width: Int, radix: Int64) -> Int64? {
        var value: Int64 = 0
        for _ in 0..<width {
            guard let character = character(), let digit = Self.digit(character), digit < radix else { return nil }
            let (product, overflow) = value.multipliedReportingOverflow(by: radix)
            if overflow { return nil }
            value = product + digit
        }
        return value
    }

    package mutating func id() -> OperationID? {
        let end = index + OperationID.characterCount
        guard end <= bytes.endIndex else { return nil }
        defer { index = end }
        return OperationID(utf8: bytes[index..<end])
    }

    private static func digit(_ character: UInt8) -> Int64? {
        switch character {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): Int64(character - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): Int64(character - UInt8(ascii: "a")) + 10
        default: nil
        }
    }
}

package enum FieldWriter {
    private static let digits = Array("0123456789abcdefghijklmnopqrstuvwxyz".utf8)

    /// Appends the number with leading zeros. A number that does not fit is a bug in Sluice.
    package static func append(_ number: Int64, width: Int, radix: Int64, to bytes: inout [UInt8]) {
        precondition(number >= 0, "a header field is never negative")
        let start = bytes.count
        bytes.append(contentsOf: repeatElement(UInt8(ascii: "0"), count: width))
        var rest = number
        var position = start + width - 1
        while rest > 0 {
            precondition(position >= start, "\(number) does not fit \(width) digits of base \(radix)")
            bytes[position] = digits[Int(rest % radix)]
            rest /= radix
            position -= 1
        }
    }

    package static func append(_ id: OperationID, to bytes: inout [UInt8]) {
        let start = bytes.count
        bytes.append(contentsOf: repeatElement(0, count: OperationID.characterCount))
        bytes.withUnsafeMutableBufferPointer { id.write(into: UnsafeMutableBufferPointer(rebasing: $0[start...])) }
    }
}
