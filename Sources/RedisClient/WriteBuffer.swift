import NIOCore

/// The commands of one event-loop tick in wire form, for one write.
struct WriteBuffer {
    private var bytes = ByteBuffer()

    mutating func append(_ arguments: RedisArguments) {
        appendHeader(count: arguments.count)
        bytes.writeBytes(arguments.bytes)
    }

    mutating func append(_ call: ScriptCall) {
        append(call.script.prefix, call.tail)
    }

    /// Returns the content and empties the buffer.
    /// - Returns: nil if there is nothing.
    mutating func take(_ allocator: ByteBufferAllocator) -> ByteBuffer? {
        guard bytes.readableBytes > 0 else { return nil }
        defer { bytes = allocator.buffer(capacity: min(bytes.readableBytes, 64 << 10)) }
        return bytes
    }

    private mutating func append(_ first: RedisArguments, _ second: RedisArguments) {
        appendHeader(count: first.count + second.count)
        bytes.writeBytes(first.bytes)
        bytes.writeBytes(second.bytes)
    }

    private mutating func appendHeader(count: Int) {
        bytes.writeInteger(UInt8(ascii: "*"))
        withDecimalDigits(of: Int64(count)) { _ = bytes.writeBytes($0) }
        bytes.writeStaticString("\r\n")
    }
}
