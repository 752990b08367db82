import NIOCore
import Operations
import RedisClient

extension RedisBroker {
    /// The most calls under way at once: enough to keep Redis busy over a network while the next one is written. Each
    /// call has at most 2 MiB, or one operation.
    private static let window = 8

    package func enqueue(_ operations: [NewOperation], queue: String) async throws -> [EnqueueOutcome] {
        guard !operations.isEmpty else { return [] }
        precondition(operations.count <= SluiceDefaults.batch, "at most \(SluiceDefaults.batch) operations a call")
        try await register(queue)
        guard CommitBatch.accepts(operations) else {
            return try await answer(to: call(operations[...], queue), queue) { Task.isCancelled }
        }
        return try await commits.enqueue(operations, queue: queue, call: committing(queue))
    }

    package func enqueueAll(
        _ operations: [NewOperation],
        queue: String,
        progress: (Int) -> Void
    ) async throws -> [EnqueueOutcome] {
        try await register(queue)
        if !operations.isEmpty, CommitBatch.accepts(operations) {
            let outcomes = try await commits.enqueue(operations, queue: queue, call: committing(queue))
            progress(outcomes.count)
            return outcomes
        }
        // With dependencies, one call at a time: a repeated call could reach Redis after the calls that depend on its
        // operations.
        let window = operations.contains { $0.links?.after.isEmpty == false } ? 1 : Self.window
        var outcomes: [EnqueueOutcome] = []
        outcomes.reserveCapacity(operations.count)
        var underWay = CircularBuffer<EnqueueCall>(initialCapacity: Self.window)
        do {
            for batch in EnqueueBatches(operations) {
                if underWay.count == window {
                    outcomes += try await answer(to: underWay.removeFirst(), queue) { Task.isCancelled }
                    progress(outcomes.count)
                }
                var call = call(batch, queue)
                // Goes out after the calls that the connection has already. The answer is read later.
                call.reply = link.submit(scripts[call.script], tail: call.arguments, mayWait: true)
                underWay.append(call)
            }
            while let call = underWay.popFirst() {
                outcomes += try await answer(to: call, queue) { Task.isCancelled }
                progress(outcomes.count)
            }
        } catch {
            for call in underWay { ledger.end(call.number, queue) }
            throw error
        }
        return outcomes
    }

    /// Returns the function that sends one commit batch.
    private func committing(_ queue: String) -> CommitBatch.Call {
        { operations, isGivenUp in try await self.answer(to: self.call(operations[...], queue), queue, isGivenUp) }
    }

    /// Gives the operations a numbered call.
    private func call(_ operations: ArraySlice<NewOperation>, _ queue: String) -> EnqueueCall {
        let (number, floor) = ledger.begin(queue)
        var arguments = arguments(queue, capacity: operations.reduce(256) { $0 + $1.bodyByteCount + 16 })
        arguments.append(ledger.producer)
        arguments.append(number)
        arguments.append(floor)
        appendGroups(of: operations, to: &arguments)
        let script: ScriptName = operations.contains { $0.links != nil } ? .enqueueLinked : .enqueue
        return EnqueueCall(number: number, script: script, arguments: arguments)
    }

    /// Appends the operations in runs whose headers have the same front: the front, the number of operations, then each
    /// of them.
    func appendGroups(of operations: ArraySlice<NewOperation>, to arguments: inout RedisArguments) {
        var rest = operations
        while let first = rest.first {
            let group = rest.prefix { $0.hasFront(of: first) }
            arguments.append(length: OperationHeader.frontByteCount) { first.writeFront(into: &$0) }
            arguments.append(group.count)
            for operation in group {
                if let links = operation.links { arguments.append(links.encoded) }
                arguments.append(length: operation.bodyByteCount) { operation.writeBody(into: &$0) }
            }
            rest = rest[group.endIndex...]
        }
    }

    /// Sends the call, unless its reply is given, and waits for the answer. Repeats the call while its outcome is
    /// unknown, which is harmless because of its number. Without an answer, later errors do not make the outcome known.
    /// Stops when all callers have given up.
    private func answer(
        to call: EnqueueCall,
        _ queue: String,
        _ isGivenUp: @Sendable () -> Bool
    ) async throws -> [EnqueueOutcome] {
        defer { ledger.end(call.number, queue) }
        let deadline = ContinuousClock.now + configuration.enqueuePatience
        var unknown: OperationsError?
        var reply = call.reply
        while true {
            do {
                let answer = try await translated {
                    // A call that is still to be sent needs no future, which would take another turn of the event loop.
                    let value =
                        if let reply { try await reply.get() } else {
                            try await link.evaluate(scripts[call.script], tail: call.arguments)
                        }
                    return try value.expectSuccess().expectBytes("outcomes of enqueue")
                }
                return try Self.outcomes(answer)
            } catch let error as OperationsError where error.code == .outcomeUnknown || error.code == .unavailable {
                if error.code == .outcomeUnknown { unknown = error }
                guard let unknown else { throw error }
                if ContinuousClock.now >= deadline || isGivenUp() { throw unknown }
                try? await Task.sleep(for: .milliseconds(50))
                reply = nil
            } catch {
                // If a repeat is refused, the outcome of the first attempt is still unknown.
                throw unknown ?? error
            }
        }
    }

    private static func outcomes(_ answer: [UInt8]) throws(OperationsError) -> [EnqueueOutcome] {
        try MarkedAnswer(answer).outcomes { mark, id throws(OperationsError) -> EnqueueOutcome in
            switch mark {
            case UInt8(ascii: "1"): .created
            case UInt8(ascii: "u"): .taken(by: try id())
            case UInt8(ascii: "m"): .crowded
            case UInt8(ascii: "n"): .unknownDependency(try id())
            case UInt8(ascii: "g"): .closedGroup(try id())
            case UInt8(ascii: "x"): .staleRun
            default: .exists
            }
        }
    }
}

/// A numbered call.
private struct EnqueueCall {
    var number: Int
    var script: ScriptName
    var arguments: RedisArguments
    /// The reply, if the connection has the call already.
    var reply: EventLoopFuture<RedisValue>?
}

/// The synchronous form of `translated`.
func translate<Result>(_ body: () throws(RedisError) -> Result) throws(OperationsError) -> Result {
    do throws(RedisError) {
        return try body()
    } catch {
        throw OperationsError(error)
    }
}
