import CHiredis

/// The bounds of one reply.
struct ReplyLimits {
    var maxBytes: Int
    var maxArrayElements: Int
    /// The longest status, error, integer or length line. Longer ones are not RESP. Also bounds hiredis' repeated
    /// search for the line's end.
    var maxLineBytes = 256 << 10
}

/// Parses replies with hiredis' reader. Used on one event loop only. Any error is final: the owner closes the
/// connection and starts the next one with a new reader.
final class ReplyReader {
    private let reader: UnsafeMutablePointer<redisReader>
    private let builder: ReplyBuilder
    private let limits: ReplyLimits

    init(limits: ReplyLimits) {
        guard let reader = redisReaderCreateWithFunctions(replyFunctions) else {
            preconditionFailure("out of memory for a reply reader")
        }
        self.limits = limits
        self.reader = reader
        builder = ReplyBuilder(limits: limits)
        reader.pointee.privdata = Unmanaged.passUnretained(builder).toOpaque()
    }

    deinit { redisReaderFree(reader) }

    /// Takes bytes and delivers each reply that they complete, in order.
    /// - Throws: ``RedisError`` with `protocolViolation` or `replyTooLarge`. Replies before the bad byte have been
    ///   delivered.
    func feed(_ bytes: UnsafeRawBufferPointer, _ deliver: (RedisValue) -> Void) throws(RedisError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            // hiredis moves its unread bytes after each reply. With small pieces, many small replies stay cheap.
            let piece = rest.prefix(max(Self.pieceBytes, missingBulkBytes()))
            rest = rest.dropFirst(piece.count)
            let pointer = UnsafeRawBufferPointer(rebasing: piece).baseAddress?.assumingMemoryBound(to: CChar.self)
            guard redisReaderFeed(reader, pointer, piece.count) == REDIS_OK else { throw failure() }
            while true {
                var marker: UnsafeMutableRawPointer?
                guard redisReaderGetReply(reader, &marker) == REDIS_OK else { throw failure() }
                guard marker != nil else { break }
                deliver(builder.takeReply())
            }
            try checkIncomplete()
        }
    }

    /// Checks the size of an incomplete reply. A bulk string that is too large is refused by its announced length.
    private func checkIncomplete() throws(RedisError) {
        let held = reader.pointee.len - reader.pointee.pos
        guard builder.bytes + held + missingBulkBytes() <= limits.maxBytes else {
            throw builder.tooLarge("more than \(limits.maxBytes) bytes")
        }
        if !isInsideBulk, held > limits.maxLineBytes {
            throw RedisError(.protocolViolation, "Redis sent a line of more than \(limits.maxLineBytes) bytes")
        }
    }

    private var isInsideBulk: Bool {
        reader.pointee.ridx >= 0 && currentTask.type == REDIS_REPLY_STRING
    }

    private var currentTask: redisReadTask {
        let index = Int(reader.pointee.ridx)
        return withUnsafeBytes(of: &reader.pointee.rstack) { $0.bindMemory(to: redisReadTask.self)[index] }
    }

    /// The announced bytes that the bulk string in progress still needs; 0 outside of a bulk string.
    private func missingBulkBytes() -> Int {
        guard isInsideBulk, let buffer = reader.pointee.buf else { return 0 }
        let unread = UnsafeRawBufferPointer(
            start: buffer + reader.pointee.pos,
            count: reader.pointee.len - reader.pointee.pos
        )
        var announced = 0
        for (index, byte) in unread.prefix(20).enumerated() {
            if byte == 13 { return max(0, index + 2 + announced + 2 - unread.count) }
            guard byte >= 48, byte <= 57 else { return 0 }
            let (scaled, overflow) = announced.multipliedReportingOverflow(by: 10)
            let (sum, carry) = scaled.addingReportingOverflow(Int(byte - 48))
            guard !overflow, !carry, sum <= limits.maxBytes else { return limits.maxBytes + 1 }
            announced = sum
        }
        return 0
    }

    private func failure() -> RedisError {
        if let refusal = builder.refusal { return refusal }
        let text = withUnsafeBytes(of: &reader.pointee.errstr) { raw in
            String(decoding: raw.prefix { $0 != 0 }, as: UTF8.self)
        }
        return RedisError(.protocolViolation, "the server does not speak the Redis protocol: \(text)")
    }

    private static let pieceBytes = 8 << 10
}

/// Builds replies. hiredis only needs a non-null object. The values stay here, so no element of an array costs an
/// object.
private final class ReplyBuilder {
    private struct OpenArray {
        var elements: [RedisValue]
        var missing: Int
    }

    private let limits: ReplyLimits
    private var open: [OpenArray] = []
    private var reply: RedisValue?
    /// The memory of the reply in progress so far.
    private(set) var bytes = 0
    /// Set when a callback returned null because of a bound, which hiredis reports as "out of memory".
    private(set) var refusal: RedisError?

    init(limits: ReplyLimits) {
        self.limits = limits
        open.reserveCapacity(8)
    }

    func takeReply() -> RedisValue {
        guard let value = reply else { preconditionFailure("the reader reported a reply that was not built") }
        reset()
        return value
    }

    func reset() {
        reply = nil
        open.removeAll(keepingCapacity: true)
        bytes = 0
    }

    func string(_ start: UnsafePointer<CChar>?, _ length: Int, _ type: Int32) -> Bool {
        guard charge(length) else { return false }
        let text = UnsafeRawBufferPointer(start: start, count: length)
        switch type {
        case REDIS_REPLY_STATUS: add(.status(String(decoding: text, as: UTF8.self)))
        case REDIS_REPLY_ERROR: add(.error(RedisServerError(message: String(decoding: text, as: UTF8.self))))
        default: add(.bytes([UInt8](text)))
        }
        return true
    }

    func array(_ count: Int) -> Bool {
        guard count <= limits.maxArrayElements else {
            refusal = tooLarge("an array of \(count) elements")
            return false
        }
        guard charge(0) else { return false }
        guard count > 0 else {
            add(.array([]))
            return true
        }
        var elements: [RedisValue] = []
        // A large announced count must not reserve memory: beyond this the array grows with its elements.
        elements.reserveCapacity(min(count, 4_096))
        open.append(OpenArray(elements: elements, missing: count))
        return true
    }

    func scalar(_ value: RedisValue) -> Bool {
        guard charge(0) else { return false }
        add(value)
        return true
    }

    func tooLarge(_ what: String) -> RedisError {
        RedisError(.replyTooLarge, "Redis sent a reply that is too large: \(what)")
    }

    /// Each value costs its bytes and a fixed amount, so that an array of nulls is bounded too.
    private func charge(_ length: Int) -> Bool {
        bytes += length + MemoryLayout<RedisValue>.stride
        guard bytes <= limits.maxBytes else {
            refusal = tooLarge("more than \(limits.maxBytes) bytes")
            return false
        }
        return true
    }

    private func add(_ value: RedisValue) {
        var value = value
        while !open.isEmpty {
            let top = open.count - 1
            open[top].elements.append(value)
            open[top].missing -= 1
            guard open[top].missing == 0 else { return }
            value = .array(open.removeLast().elements)
        }
        reply = value
    }
}

private func builder(_ task: UnsafePointer<redisReadTask>?) -> (ReplyBuilder, UnsafeMutableRawPointer)? {
    guard let data = task?.pointee.privdata else { return nil }
    return (Unmanaged<ReplyBuilder>.fromOpaque(data).takeUnretainedValue(), data)
}

/// hiredis keeps a pointer to this table as long as a reader lives, so it is made once and never freed.
nonisolated(unsafe) private let replyFunctions: UnsafeMutablePointer<redisReplyObjectFunctions> = {
    let functions = UnsafeMutablePointer<redisReplyObjectFunctions>.allocate(capacity: 1)
    functions.initialize(
        to: redisReplyObjectFunctions(
            createString: { task, start, length in
                guard let (builder, marker) = builder(task), let type = task?.pointee.type else { return nil }
                return builder.string(start, length, type) ? marker : nil
            },
            createArray: { task, count in
                guard let (builder, marker) = builder(task) else { return nil }
                return builder.array(Int(count)) ? marker : nil
            },
            createInteger: { task, value in
                guard let (builder, marker) = builder(task) else { return nil }
                return builder.scalar(.integer(Int64(value))) ? marker : nil
            },
            createNil: { task in
                guard let (builder, marker) = builder(task) else { return nil }
                return builder.scalar(.null) ? marker : nil
            },
            freeObject: { marker in
                // Called for an incomplete reply that is discarded. The marker is the builder itself.
                guard let marker else { return }
                Unmanaged<ReplyBuilder>.fromOpaque(marker).takeUnretainedValue().reset()
            }
        )
    )
    return functions
}()
