extension Statistics {
    /// All numbers by position, from 1: those of the counters, then those of both histograms.
    private var numbers: [Int64] {
        [enqueued, started, finished, failed, retried, cancelled, wait.microseconds, run.microseconds]
            + (wait.counts.isEmpty ? [Int64](repeating: 0, count: DurationHistogram.bucketCount) : wait.counts)
            + run.counts
    }

    private static let plainCount = 8
    private static let positions = 1...plainCount + 2 * DurationHistogram.bucketCount

    private init(numbers: [Int64]) {
        self.init()
        (enqueued, started, finished) = (numbers[0], numbers[1], numbers[2])
        (failed, retried, cancelled) = (numbers[3], numbers[4], numbers[5])
        let counts = numbers.dropFirst(Self.plainCount)
        wait = DurationHistogram(counts: counts.prefix(DurationHistogram.bucketCount), microseconds: numbers[6])
        run = DurationHistogram(counts: counts.dropFirst(DurationHistogram.bucketCount), microseconds: numbers[7])
    }

    /// The stored form: a map from position to number in the MessagePack format, without zeros.
    package var packed: [UInt8] {
        let entries = zip(Self.positions, numbers).filter { $1 > 0 }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(3 + 3 * entries.count)
        if entries.count < 16 {
            bytes.append(0x80 | UInt8(entries.count))
        } else {
            bytes.append(0xde, UInt16(entries.count))
        }
        for (position, number) in entries {
            bytes.append(UInt8(position))
            switch UInt64(number) {
            case let small where small < 0x80: bytes.append(UInt8(small))
            case let small where small <= UInt8.max: bytes.append(0xcc, UInt8(small))
            case let small where small <= UInt16.max: bytes.append(0xcd, UInt16(small))
            case let small where small <= UInt32.max: bytes.append(0xce, UInt32(small))
            case let large: bytes.append(0xcf, large)
            }
        }
        return bytes
    }

    /// Reads bytes that `packed` or a script wrote. A script writes an array if all first positions have a number.
    ///
    /// - Returns: nil for any other bytes.
    package init?(packed bytes: some Sequence<UInt8>) {
        var reader = Reader(bytes: Array(bytes)[...])
        guard let (count, isMap) = reader.head() else { return nil }
        var numbers = [Int64](repeating: 0, count: Self.positions.count)
        for index in 0..<count {
            guard let position = isMap ? reader.number() : Int64(index + 1), let number = reader.number(),
                Self.positions.contains(Int(position))
            else { return nil }
            numbers[Int(position) - 1] = number
        }
        self.init(numbers: numbers)
    }

    /// Reads the few forms of MessagePack that occur here.
    private struct Reader {
        var bytes: ArraySlice<UInt8>

        mutating func head() -> (count: Int, isMap: Bool)? {
            switch bytes.popFirst() {
            case .some(let head) where head & 0xf0 == 0x80: (Int(head & 0x0f), true)
            case .some(let head) where head & 0xf0 == 0x90: (Int(head & 0x0f), false)
            case 0xde: bigEndian(2).map { (Int($0), true) }
            case 0xdc: bigEndian(2).map { (Int($0), false) }
            default: nil
            }
        }

        mutating func number() -> Int64? {
            switch bytes.popFirst() {
            case .some(let small) where small < 0x80: Int64(small)
            case 0xcc: bigEndian(1)
            case 0xcd: bigEndian(2)
            case 0xce: bigEndian(4)
            case 0xcf: bigEndian(8)
            default: nil
            }
        }

        private mutating func bigEndian(_ count: Int) -> Int64? {
            guard bytes.count >= count else { return nil }
            defer { bytes = bytes.dropFirst(count) }
            return Int64(exactly: bytes.prefix(count).reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
        }
    }
}

extension [UInt8] {
    /// Appends a type byte and a number, highest byte first.
    fileprivate mutating func append(_ type: UInt8, _ number: some FixedWidthInteger) {
        append(type)
        Swift.withUnsafeBytes(of: number.bigEndian) { append(contentsOf: $0) }
    }
}
