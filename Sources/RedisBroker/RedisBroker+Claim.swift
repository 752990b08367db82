import Operations
import RedisClient

extension RedisBroker {
    package func claim(_ request: ClaimRequest, queue: String) async throws -> Claim {
        try await register(queue)
        return try Claim(try await evaluate(scripts[.claim], arguments(of: request, queue: queue)))
    }

    func arguments(of request: ClaimRequest, queue: String) -> RedisArguments {
        var arguments = arguments(queue)
        arguments.append(request.worker.description)
        arguments.append(request.epoch)
        arguments.append(request.capacity)
        arguments.append(request.givenArgument)
        if request.onlyIfIdle { arguments.append(1) }
        return arguments
    }
}

extension ClaimRequest {
    /// The highest fence and the names of unhandled operations, in the form that `claim.lua` takes.
    var givenArgument: String {
        unhandled.isEmpty ? String(highestFence) : "\(highestFence) " + unhandled.joined(separator: " ")
    }
}

extension Claim {
    /// Reads the reply of `take.lua`.
    init(_ reply: RedisValue) throws(OperationsError) {
        let fields = try translate { () throws(RedisError) in try reply.expectArray("the reply of a claim") }
        guard fields.count >= 4, let word = fields[0].string, let status = Status(rawValue: word),
            let fence = fields[1].int,
            let due = fields[2].int, let more = fields[3].int
        else { throw OperationsError(.malformed, "the reply of a claim cannot be read") }
        var operations: [ClaimedOperation] = []
        operations.reserveCapacity(fields.count - 4)
        for (index, element) in fields.dropFirst(4).enumerated() {
            let fence = Int64(fence + 1 + index)
            let found = ClaimedOperation(fence: fence, taken: element, standing: Int64(more >> 2))
            guard let operation = found else { continue }
            operations.append(operation)
        }
        self.init(
            status: status,
            operations: operations,
            more: more & 1 == 1,
            unhandledLeft: more & 2 == 2,
            nextDueMilliseconds: due < 0 ? nil : Int64(due)
        )
    }
}

extension ClaimedOperation {
    /// Reads a claimed operation: an element, or the record of a tracked operation.
    init?(fence: Int64, taken: RedisValue, standing: Int64) {
        guard let bytes = taken.bytes else { return nil }
        let isRecord = bytes.count >= OperationRecord.headByteCount && bytes[1] != UInt8(ascii: "0")
        let headByteCount = isRecord ? OperationRecord.headByteCount : nil
        self.init(fence: fence, element: bytes, headByteCount: headByteCount, standing: standing)
    }

    init?(fence: Int64, element: RedisValue, standing: Int64) {
        guard let bytes = element.bytes else { return nil }
        self.init(fence: fence, element: bytes, standing: standing)
    }
}

extension RedisArguments {
    mutating func append(_ id: OperationID) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: OperationID.characterCount) { buffer in
            id.write(into: buffer)
            append(UnsafeBufferPointer(buffer))
        }
    }
}
