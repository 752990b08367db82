import Operations
import RedisClient

extension RedisBroker {
    /// The most ids of untracked operations that a call names, for the event's text.
    private static let namedUntracked = 50

    package func complete(
        _ completions: [Completion],
        isRepeat: Bool,
        worker: WorkerID,
        thenClaim: ClaimRequest?,
        queue: String
    ) async throws -> (outcomes: [SettleOutcome], claim: Claim?) {
        precondition(completions.count <= SluiceDefaults.batch, "at most \(SluiceDefaults.batch) operations a call")
        let untracked = completions.filter { !$0.tracked }
        let tracked = completions.filter(\.tracked)
        var arguments = arguments(queue, capacity: completions.reduce(512) { $0 + $1.result.count + 64 })
        arguments.append(worker.description)
        arguments.append(isRepeat ? 1 : 0)
        arguments.append(thenClaim?.epoch ?? 0)
        arguments.append(thenClaim?.capacity ?? 0)
        arguments.append(thenClaim?.givenArgument ?? "0")
        arguments.append(untracked.count)
        arguments.append(min(untracked.count, Self.namedUntracked))
        for completion in untracked { arguments.append(completion.fence) }
        for completion in untracked.prefix(Self.namedUntracked) { arguments.append(completion.id) }
        for completion in tracked {
            arguments.append(completion.fence)
            arguments.append(completion.id)
            arguments.append(completion.result)
        }
        let reply = try await evaluate(scripts[.complete], arguments)
        guard let parts = reply.array, parts.count == 2, let marks = parts[0].bytes, let claimed = parts[1].array else {
            throw OperationsError(.malformed, "the reply of a completion cannot be read")
        }
        let claim = claimed.isEmpty ? nil : try Claim(parts[1])
        return (Self.outcomes(of: completions, marks: marks), claim)
    }

    /// Reads the marks. The script answers untracked operations first. An empty answer means that all are finished.
    private static func outcomes(of completions: [Completion], marks: [UInt8]) -> [SettleOutcome] {
        guard !marks.isEmpty else { return completions.map { _ in .done(.finished) } }
        var untracked = 0
        var tracked = completions.count { !$0.tracked }
        return completions.map { completion in
            let index = completion.tracked ? tracked : untracked
            if completion.tracked { tracked += 1 } else { untracked += 1 }
            return switch marks[index] {
            case UInt8(ascii: "1"): .done(.finished)
            case UInt8(ascii: "2"): .already
            default: .stale
            }
        }
    }

    package func fail(_ failures: [Failure], worker: WorkerID, queue: String) async throws -> [SettleOutcome] {
        var arguments = arguments(queue, capacity: failures.reduce(256) { $0 + $1.error.count + 96 })
        arguments.append(worker.description)
        for failure in failures {
            arguments.append(failure.fence)
            arguments.append(failure.id)
            switch failure.disposition {
            case .retry(let pause):
                arguments.append("t")
                arguments.append(pause)
            case .dead:
                arguments.append("d")
                arguments.append(0)
            case .cancelled:
                arguments.append("c")
                arguments.append(0)
            case .snoozed(let pause, let reason):
                arguments.append("z")
                arguments.append(pause)
                arguments.append(reason.oneLine)
                continue
            case .yielded:
                arguments.append("y")
                arguments.append(0)
            case .cancelledByStanding(let standing, let request):
                arguments.append("k")
                arguments.append(standing)
                arguments.append("\(request.milliseconds ?? 0) \((request.by ?? "").oneWord) \(request.reason.oneLine)")
                continue
            }
            arguments.append(failure.error)
        }
        return try settled(try await evaluate(scripts[.fail], arguments))
    }

    package func giveBack(_ returns: [Return], worker: WorkerID, queue: String) async throws -> [SettleOutcome] {
        // The script pushes each operation to the head of its lane. The newest goes first, so that the oldest ends up
        // at the head.
        let order = returns.indices.sorted { returns[$0].fence > returns[$1].fence }
        var arguments = arguments(queue, capacity: 128 + 64 * returns.count)
        arguments.append(worker.description)
        for index in order {
            arguments.append(returns[index].fence)
            arguments.append(returns[index].id)
            switch returns[index].place {
            case .front: arguments.append(-1)
            case .later(let milliseconds), .unhandled(_, let milliseconds): arguments.append(milliseconds)
            }
            if case .unhandled(let name, _) = returns[index].place {
                arguments.append(name)
            } else {
                arguments.append("")
            }
        }
        let outcomes = try settled(try await evaluate(scripts[.giveBack], arguments))
        var result = outcomes
        for (position, index) in order.enumerated() { result[index] = outcomes[position] }
        return result
    }

    private func settled(_ reply: RedisValue) throws(OperationsError) -> [SettleOutcome] {
        let marks = try translate { () throws(RedisError) in try reply.expectBytes("outcomes") }
        return marks.map { mark in
            if mark == UInt8(ascii: "=") { return .already }
            return OperationState(code: mark).map { .done($0) } ?? .stale
        }
    }

    package func remember(
        _ result: EffectResult,
        worker: WorkerID,
        queue: String
    ) async throws -> OnceResults.Stored {
        var arguments = arguments(queue, capacity: 256 + result.result.count)
        arguments.append(worker.description)
        arguments.append(result.fence)
        arguments.append(result.id)
        arguments.append(result.label)
        arguments.append(result.result)
        let reply = try await evaluate(scripts[.remember], arguments)
        let answer = try translate { () throws(RedisError) in try reply.expectBytes("the outcome of once") }
        return switch answer.first {
        case UInt8(ascii: "1"): .stored
        case UInt8(ascii: "="): .replayed(Array(answer.dropFirst()))
        case UInt8(ascii: "l"): .tooManyLabels
        case UInt8(ascii: "b"): .tooManyBytes
        default: .stale
        }
    }

    package func report(_ reports: [Report], number: Int, worker: WorkerID, queue: String) async throws -> [Bool] {
        var arguments = arguments(queue, capacity: 128 + 160 * reports.count)
        arguments.append(worker.description)
        arguments.append(number)
        for report in reports {
            arguments.append(report.fence)
            arguments.append(report.id)
            switch report.content {
            case .progress(let fraction, let message):
                arguments.append("p")
                arguments.append("\(fraction) \(message)")
            case .log(let line):
                arguments.append("l")
                arguments.append(line)
            case .checkpoint(let data):
                arguments.append("k")
                arguments.append(data)
            case .cancelAcknowledged:
                arguments.append("a")
                arguments.append("")
            case .cancelStopped:
                arguments.append("s")
                arguments.append("")
            }
        }
        let reply = try await evaluate(scripts[.report], arguments)
        return try translate { () throws(RedisError) in try reply.expectBytes("outcomes of a report") }
            .map { $0 == UInt8(ascii: "1") }
    }
}
