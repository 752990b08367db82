import Operations
import RedisClient

extension RedisBroker {
    package func beat(_ beat: Beat, queue: String) throws -> BeatReply {
        do {
            try registerBlocking(queue)
            return try Self.beatReply(heartbeat.evaluate(scripts[.beat], arguments(beat, queue)).wait())
        } catch let error as RedisError {
            throw OperationsError(error)
        }
    }

    private func arguments(_ beat: Beat, _ queue: String) -> RedisArguments {
        var arguments = arguments(queue, capacity: 256 + beat.info.count + StatisticsDelta.capacity(beat.statistics))
        arguments.append(beat.worker.description)
        arguments.append(beat.leaseMilliseconds)
        arguments.append(beat.intervalMilliseconds)
        arguments.append(beat.epoch)
        arguments.append(beat.info)
        arguments.append(beat.unhandledSeen)
        arguments.append(beat.build ?? "")
        if let statistics = beat.statistics { statistics.append(to: &arguments) }
        return arguments
    }

    private static func beatReply(_ reply: RedisValue) throws(OperationsError) -> BeatReply {
        guard let fields = reply.array, fields.count >= 12, let inFlight = fields[0].int, let through = fields[3].int,
            let newest = fields[4].int
        else {
            throw OperationsError(.malformed, "the reply to a heartbeat has an unknown form; run: sluice doctor")
        }
        let cancels = stride(from: 12, to: fields.count - 1, by: 2).compactMap { index in
            fields[index].int.flatMap { FencedCancel(fence: Int64($0), stored: fields[index + 1]) }
        }
        return BeatReply(
            inFlight: inFlight,
            startable: fields[1].int == 1,
            sweepDue: fields[2].int == 1,
            cancels: cancels,
            cancelledThroughFence: Int64(through),
            queueCancel: OperationCancellation(trace: fields[9]),
            newestUnhandled: Int64(newest),
            unhandled: (fields[5].string ?? "").split(separator: " ").map(String.init),
            settings: WorkerSettings(course: fields[6], slots: fields[7]),
            time: Int64(fields[8].int ?? 0),
            room: Room(fields[10]),
            scheduleMilliseconds: fields[11].int.map(Int64.init)
        )
    }

    package func beats(_ beats: [(beat: Beat, queue: String)]) -> [Result<BeatReply, any Error>] {
        // An error that keeps one queue from being registered concerns all other queues as well.
        var isRegistryAway: (any Error)?
        let sent = beats.map { beat, queue in
            Result {
                if let isRegistryAway, !isRegistered(queue) { throw isRegistryAway }
                do { try registerBlocking(queue) } catch {
                    isRegistryAway = error
                    throw error
                }
                // Waits at most until the next heartbeat, because the other queues need that one as well.
                let patience = min(
                    configuration.commandDeadline,
                    max(.seconds(1), .milliseconds(beat.intervalMilliseconds))
                )
                return try heartbeat.evaluate(scripts[.beat], arguments(beat, queue), deadline: patience)
            }
        }
        return sent.map { reply in
            Result {
                do {
                    return try Self.beatReply(reply.get().wait())
                } catch let error as RedisError {
                    throw OperationsError(error)
                }
            }
        }
    }

    package func reconcile(known: [Int64], worker: WorkerID, epoch: Int, queue: String) async throws -> Reconciliation {
        var arguments = arguments(queue, capacity: 128 + 24 * known.count)
        arguments.append(worker.description)
        arguments.append(epoch)
        for fence in known { arguments.append(fence) }
        let reply = try await evaluate(scripts[.reconcile], arguments)
        guard let fields = reply.array, fields.count >= 2, let more = fields[0].int, let lostCount = fields[1].int,
            (0...fields.count - 2).contains(lostCount)
        else {
            throw OperationsError(.malformed, "the list of what a worker owns has an unknown form; run: sluice doctor")
        }
        let lost = fields[2..<(2 + lostCount)].compactMap { $0.int.map(Int64.init) }
        var found: [ClaimedOperation] = []
        for index in stride(from: 2 + lostCount, to: fields.count - 1, by: 2) {
            guard let fence = fields[index].int,
                let operation = ClaimedOperation(
                    fence: Int64(fence),
                    element: fields[index + 1],
                    standing: Int64(more >> 1)
                )
            else { continue }
            found.append(operation)
        }
        return Reconciliation(found: found, lost: lost, more: more & 1 == 1)
    }

    package func requestedCancels(of fences: [Int64], worker: WorkerID, queue: String) async throws -> RequestedCancels
    {
        var commands = [RedisCommand("HMGET", keys.meta(queue), "cancelledFence", "cancelTrace")]
        if !fences.isEmpty {
            var command = RedisCommand("HMGET", capacity: 64 + 24 * fences.count)
            command.append(keys.cancelling(queue, worker))
            for fence in fences { command.append(fence) }
            commands.append(command)
        }
        let replies = try await translated {
            try await link.send(commands).map { reply throws(RedisError) in try reply.expectSuccess() }
        }
        let meta = replies.first?.array ?? []
        let traces = replies.dropFirst().first?.array ?? []
        return RequestedCancels(
            cancels: zip(fences, traces).compactMap { fence, trace in
                FencedCancel(fence: fence, stored: trace)
            },
            throughFence: Int64(meta.first?.int ?? 0),
            queueCancel: meta.last.flatMap(OperationCancellation.init(trace:))
        )
    }

    package func sweep(queue: String) async throws -> SweepReply {
        let reply = try await evaluate(scripts[.sweep], arguments(queue))
        guard let fields = reply.array, fields.count == 4 else {
            throw OperationsError(.malformed, "the reply to a sweep cannot be read")
        }
        return SweepReply(
            recovered: fields[0].int ?? 0,
            dead: fields[1].int ?? 0,
            cleared: fields[2].int ?? 0,
            more: fields[3].int == 1
        )
    }

    package func recoverWorker(worker: WorkerID, queue: String) async throws -> SweepReply {
        var arguments = arguments(queue)
        arguments.append(worker.description)
        let reply = try await evaluate(scripts[.recoverWorker], arguments)
        guard let fields = reply.array, fields.count == 3 else {
            throw OperationsError(.malformed, "the reply to the recovery of a worker's operations cannot be read")
        }
        return SweepReply(recovered: fields[0].int ?? 0, dead: fields[1].int ?? 0, more: fields[2].int == 1)
    }

    package func retire(worker: WorkerID, statistics: [StatisticsDelta], queue: String) async throws {
        var arguments = arguments(queue)
        arguments.append(worker.description)
        for delta in statistics { delta.append(to: &arguments) }
        _ = try await evaluate(scripts[.retire], arguments)
    }

    package func waitForWakeUp(queues: [String], timeout: Duration) async throws -> String? {
        for queue in queues { try await register(queue) }
        return try await translated { try await wakeUps.wait(queues: queues, timeout: timeout) }
    }

    package func claimAtWakeUp(_ request: ClaimRequest, queue: String, timeout: Duration) async throws -> WakeUpAnswer {
        try await register(queue)
        guard !isSpread else {
            // A cluster may redirect wait and claim to another node, and may change their order.
            do {
                return WakeUpAnswer(wasWoken: try await waitForWakeUp(queues: [queue], timeout: timeout) != nil)
            } catch is CancellationError {
                return WakeUpAnswer()
            }
        }
        let arguments = arguments(of: request, queue: queue)
        return try await translated {
            let answer = try await wakeUps.wait(queue: queue, timeout: timeout, then: scripts[.claim], arguments)
            return WakeUpAnswer(wasWoken: answer?.wasWoken ?? false, claim: try answer.map { try Claim($0.reply) })
        }
    }

    package func wake(queue: String) async throws {
        try await translated { try await wakeUps.put(queue) }
    }

    package func controlMessages(worker: WorkerID, queues: [String]) -> AsyncStream<ControlMessage> {
        let keys = keys
        let signals = subscriptions.listen(queues.flatMap { [keys.control($0), keys.control($0, worker)] })
        return AsyncStream { continuation in
            let task = Task {
                var refused: Set<String> = []
                for await signal in signals {
                    switch signal {
                    case .gap: continuation.yield(.resubscribed)
                    case .refused(let channel, let error):
                        if refused.isEmpty { continuation.yield(.refused(refusal(of: channel, error))) }
                        refused.insert(channel)
                    case .accepted(let channel):
                        refused.remove(channel)
                        if refused.isEmpty { continuation.yield(.accepted) }
                    case .message(let channel, let payload):
                        if let message = ControlMessage(channel: channel, payload: payload, keys: keys) {
                            continuation.yield(message)
                        }
                    }
                }
                continuation.finish()
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }
}

extension OperationCancellation {
    /// Reads "time by reason", the form in which scripts store it; nil for another form.
    init?(trace: RedisValue) {
        guard let trace = OperatorTrace(stored: trace.string ?? "") else { return nil }
        self.init(reason: trace.reason, by: trace.by, requestedAt: trace.at)
    }
}

extension OperatorTrace {
    /// Reads "time by reason", the form in which scripts store a request.
    init?(stored: String) {
        let words = stored.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
        guard words.count == 3, let at = Int64(words[0]) else { return nil }
        self.init(at: at, by: String(words[1]), reason: String(words[2]))
    }
}

extension FencedCancel {
    /// Reads a stored cancel request: its trace, after "!id " if the cancel was forced.
    init?(fence: Int64, stored: RedisValue) {
        guard let text = stored.string, text.hasPrefix("!") else {
            guard let cancellation = OperationCancellation(trace: stored) else { return nil }
            self.init(fence: fence, cancellation)
            return
        }
        let words = text.dropFirst().split(separator: " ", maxSplits: 1)
        guard words.count == 2, let id = OperationID(String(words[0])),
            let trace = OperatorTrace(stored: String(words[1]))
        else { return nil }
        let cancellation = OperationCancellation(
            reason: trace.reason,
            by: trace.by,
            requestedAt: trace.at,
            isForced: true
        )
        self.init(fence: fence, cancellation, forced: id)
    }
}

extension ControlMessage {
    /// Reads `cancel FENCE`, `cancelThrough`, `control`, `schedules`, `outbox` and `unhandled NUMBER NAME`. Ignores all
    /// other messages, which are for other versions.
    init?(channel: String, payload: [UInt8], keys: Keys) {
        let words = String(decoding: payload, as: UTF8.self).split(separator: " ")
        guard let queue = keys.queue(of: channel) else { return nil }
        switch (words.first, words.dropFirst().first.flatMap { Int64($0) }) {
        case ("cancel", let fence?): self = .cancel(queue: queue, fence: fence)
        case ("unhandled", _?) where words.count == 3: self = .unhandled(queue: queue, name: String(words[2]))
        case ("control", _): self = .controlled
        case ("schedules", _): self = .schedules
        case ("outbox", _): self = .outbox(queue: queue)
        case ("cancelThrough", _): self = .cancelThrough(queue: queue)
        default: return nil
        }
    }
}

extension Room {
    /// Reads "how many may start, how many a worker may hold ahead"; nil without a limit.
    fileprivate init?(_ stored: RedisValue) {
        let numbers = (stored.string ?? "").split(separator: " ").compactMap { Int($0) }
        guard let left = numbers.first else { return nil }
        self.init(left: left, ahead: numbers.count == 2 ? numbers[1] : nil)
    }
}
