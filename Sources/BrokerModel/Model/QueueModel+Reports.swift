import Operations

// Writes of running operations.
extension QueueModel {
    /// Whether a call with this number was received before; 0 is never a repeat.
    mutating func isRepeated(report number: Int, worker: String) -> Bool {
        guard number > 0 else { return false }
        defer { workers[worker, default: HeldOperations()].reports = max(number, workers[worker]?.reports ?? 0) }
        return number <= workers[worker]?.reports ?? 0
    }

    /// Stores a report of a run. Reports of untracked operations are accepted and not stored.
    mutating func report(_ report: Report, worker: String, isRepeat: Bool) -> Bool {
        guard workers[worker]?.inFlight[report.fence]?.id == report.id else {
            return reportOfForced(report, worker: worker)
        }
        switch report.content {
        case .progress(let fraction, let message):
            operations[report.id]?.progress = (fraction, message)
            effects.progressed.append(report.id)
        case .checkpoint(let bytes): operations[report.id]?.stored.checkpoint = bytes
        case .log(let line): if !isRepeat { operations[report.id]?.keep(LogLine(line, at: now)) }
        case .cancelAcknowledged where operations[report.id]?.cancelAcknowledgedAt == nil:
            operations[report.id]?.cancelAcknowledgedAt = now
        case .cancelAcknowledged, .cancelStopped: break
        }
        return true
    }

    /// Stores the result of an effect of a tracked operation.
    mutating func remember(_ result: EffectResult, worker: String) -> OnceResults.Stored {
        guard let element = workers[worker]?.inFlight[result.fence], element.id == result.id, element.header.tracked,
            let stored = operations[result.id]?.stored
        else { return .stale }
        let outcome = OnceResults.judge(result.label, result.result, beside: stored.once)
        if outcome == .stored { operations[result.id]?.stored.once[result.label] = result.result }
        return outcome
    }

    /// Stores a report of a run whose fence a forced cancel has taken: only the times of acknowledgement and stop.
    private mutating func reportOfForced(_ report: Report, worker: String) -> Bool {
        guard [.cancelAcknowledged, .cancelStopped].contains(report.content) else { return false }
        let hasStopped = report.content == .cancelStopped
        if hasStopped, workers[worker]?.inFlight[report.fence] == nil { workers[worker]?.forced[report.fence] = nil }
        guard var stored = operations[report.id], stored.forced?.fence == report.fence else { return false }
        if hasStopped { freeStoppedKey(of: report.id) }
        if hasStopped {
            stored.cancelStoppedAt = stored.cancelStoppedAt ?? now
        } else {
            stored.cancelAcknowledgedAt = stored.cancelAcknowledgedAt ?? now
        }
        operations[report.id] = stored
        return true
    }
}

extension StoredOperation {
    fileprivate mutating func keep(_ line: LogLine) {
        if logStarts.last?.attempt != record.attempt {
            logStarts.append(LogStart(attempt: record.attempt, line: logBase + log.count))
        }
        log.append(line)
        var bytes = log.reduce(0) { $0 + $1.text.count }
        while log.count > SluiceDefaults.logLines || bytes > SluiceDefaults.logBytes {
            bytes -= log.removeFirst().text.count
            logBase += 1
        }
    }
}
