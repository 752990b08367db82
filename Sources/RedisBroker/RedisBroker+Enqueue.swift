import NIOCore
import Operations
import RedisClient

extension RedisBroker {
    /// Calls under way at once: enough to keep Redis busy while the next one is written, and over a network. At most 2 MiB, or one
    /// operation each.
    private static let window = 8

    package func enqueue(_ operations: [NewOperation], queue: String) async throws -> [EnqueueOutcome] {
        guard !operations.isEmpty else { return [] }
        precondition(operations.count <= Defaults.batch, "at most \(Defaults.batch) operations a call")
        try await register(queue)
        guard GroupCommit.accepts(operations) else {
            return try await answer(to: call(operations[...], queue), queue) { Task.isCancelled }
        }
        return try await groups.enqueue(operations, queue: queue) { operations, isGivenUp in
            try await self.answer(to: self.call(operations[...], queue), queue, isGivenUp)
        }
    }

    package func enqueueAll(
        _ operations: [NewOperation],
        queue: String,
        progress: (Int) -> Void
    ) async throws -> [EnqueueOutcome] {
        if !operations.isEmpty, GroupCommit.accepts(operations) {
            let outcomes = try await enqueue(operations, queue: queue)
            progress(outcomes.count)
            return outcomes
        }
        try await register(queue)
        // A call that has to be repeated would come behind those that wait for what is in it.
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
                // Behind those that the connection has already; its answer is asked for later.
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

    /// Numbers a call.
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

    /// Operations whose headers begin alike follow their common front and their number.
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

    /// Sends a call, unless that was done, and waits for its answer. Repeats it as long as its outcome is unknown: its number makes that
    /// harmless. As long as no answer came, whatever goes wrong later does not make the outcome known. Whoever has given up waiting
    /// makes it stop.
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
                return try await outcomes(of: call, reply)
            } catch let error as OperationsError where error.code == .outcomeUnknown || error.code == .unavailable {
                if error.code == .outcomeUnknown { unknown = error }
                guard let unknown else { throw error }
                if ContinuousClock.now >= deadline || isGivenUp() { throw unknown }
                try? await Task.sleep(for: .milliseconds(50))
                reply = nil
            } catch {
                // What is refused now says nothing of what was sent before.
                throw unknown ?? error
            }
        }
    }

    /// - Parameter reply: nil = the call is still to be sent. Then no future is made: to ask one takes the event loop another turn.
    private func outcomes(of call: EnqueueCall, _ reply: EventLoopFuture<RedisValue>?) async throws -> [EnqueueOutcome]
    {
        let answer = try await translated {
            let value =
                if let reply { try await reply.get() } else {
                    try await link.evaluate(scripts[call.script], tail: call.arguments)
                }
            return try value.expectSuccess().expectBytes("outcomes of enqueue")
        }
        return try MarkedAnswer(answer).outcomes { mark, id throws(OperationsError) -> EnqueueOutcome in
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
    /// Of one that was handed to the connection.
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
