/// An argument of a command, which appends itself as one bulk string.
package protocol RedisArgument: Sendable {
    func append(to arguments: inout RedisArguments)
}

extension String: RedisArgument {
    package func append(to arguments: inout RedisArguments) { arguments.append(self) }
}

extension Int: RedisArgument {
    package func append(to arguments: inout RedisArguments) { arguments.append(self) }
}

extension Int64: RedisArgument {
    package func append(to arguments: inout RedisArguments) { arguments.append(self) }
}

extension Array: RedisArgument where Element == UInt8 {
    package func append(to arguments: inout RedisArguments) { arguments.append(self) }
}

extension ArraySlice: RedisArgument where Element == UInt8 {
    package func append(to arguments: inout RedisArguments) { arguments.append(self) }
}

/// Arguments in wire form: one byte array, no object per argument.
package struct RedisArguments: Sendable {
    /// The encoded bulk strings, without separators.
    package private(set) var bytes: [UInt8] = []
    /// The number of arguments.
    package private(set) var count = 0

    /// - Parameter capacity: bytes to reserve; an argument takes its length and up to 15 bytes.
    package init(capacity: Int = 0) {
        if capacity > 0 { bytes.reserveCapacity(capacity) }
    }

    /// The tail of EVALSHA: number of keys and the keys. The script's arguments are appended to it.
    package init(keys: [String], capacity: Int = 0) {
        self.init(capacity: capacity)
        append(keys.count)
        for key in keys { append(key) }
    }

    package mutating func append(_ text: String) {
        var text = text
        text.withUTF8 { append($0) }
    }

    package mutating func append(_ value: [UInt8]) {
        value.withUnsafeBufferPointer { append($0) }
    }

    package mutating func append(_ value: ArraySlice<UInt8>) {
        value.withUnsafeBufferPointer { append($0) }
    }

    package mutating func append(_ value: UnsafeBufferPointer<UInt8>) {
        beginBulk(length: value.count)
        bytes.append(contentsOf: value)
        endBulk()
    }

    /// Appends one argument that is written in place.
    /// - Parameters:
    ///   - length: how many bytes `write` appends.
    ///   - write: appends them.
    package mutating func append(length: Int, _ write: (inout [UInt8]) -> Void) {
        beginBulk(length: length)
        let end = bytes.count + length
        write(&bytes)
        precondition(bytes.count == end, "an argument has another length than was announced")
        endBulk()
    }

    package mutating func append(_ value: Int64) {
        withDecimalDigits(of: value) { append($0) }
    }

    package mutating func append(_ value: Int) { append(Int64(value)) }

    /// Appends other arguments.
    package mutating func append(contentsOf other: RedisArguments) {
        bytes.append(contentsOf: other.bytes)
        count += other.count
    }

    private mutating func beginBulk(length: Int) {
        bytes.append(dollar)
        appendDecimal(Int64(length), to: &bytes)
        endLine()
    }

    private mutating func endBulk() {
        endLine()
        count += 1
    }

    private mutating func endLine() {
        bytes.append(13)
        bytes.append(10)
    }
}

/// A command in wire form, built once. To send it only copies its bytes into the connection's buffer.
package struct RedisCommand: Sendable {
    package private(set) var arguments: RedisArguments

    package init(_ name: String, _ arguments: any RedisArgument...) {
        self.arguments = RedisArguments(capacity: 64)
        self.arguments.append(name)
        for argument in arguments { argument.append(to: &self.arguments) }
    }

    /// Makes a large command with one reservation of memory.
    package init(_ name: String, capacity: Int) {
        arguments = RedisArguments(capacity: capacity)
        arguments.append(name)
    }

    package init(_ name: String, tail: RedisArguments) {
        self.init(name, capacity: name.utf8.count + 16 + tail.bytes.count)
        arguments.append(contentsOf: tail)
    }

    /// - Parameter prefix: the name and the first arguments.
    init(prefix: RedisArguments, tail: RedisArguments) {
        arguments = RedisArguments(capacity: prefix.bytes.count + tail.bytes.count)
        arguments.append(contentsOf: prefix)
        arguments.append(contentsOf: tail)
    }

    package mutating func append(_ value: String) { arguments.append(value) }
    package mutating func append(_ value: [UInt8]) { arguments.append(value) }
    package mutating func append(_ value: ArraySlice<UInt8>) { arguments.append(value) }
    package mutating func append(_ value: Int) { arguments.append(value) }
    package mutating func append(_ value: Int64) { arguments.append(value) }
    package mutating func append(contentsOf tail: RedisArguments) { arguments.append(contentsOf: tail) }

    /// Approximate bytes on the wire, to account for memory.
    var weight: Int { arguments.bytes.count + 16 }
}

private let dollar = UInt8(ascii: "$")

private func appendDecimal(_ value: Int64, to bytes: inout [UInt8]) {
    if value >= 0, value < 10 {
        bytes.append(UInt8(48 + value))
    } else {
        withDecimalDigits(of: value) { bytes.append(contentsOf: $0) }
    }
}

func withDecimalDigits<Result>(of value: Int64, _ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { scratch in
        var rest = value.magnitude
        var index = 20
        repeat {
            index -= 1
            scratch[index] = UInt8(48 + rest % 10)
            rest /= 10
        } while rest > 0
        if value < 0 {
            index -= 1
            scratch[index] = UInt8(ascii: "-")
        }
        return body(UnsafeBufferPointer(rebasing: scratch[index..<20]))
    }
}
