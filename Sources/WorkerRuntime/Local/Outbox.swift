import Operations

/// What is to be settled: operations that have ended here, and whose ends Redis has not confirmed. A pure value.
///
/// What was sent and not answered comes back. It leaves first and by itself, under the same fences.
struct Outbox: Sendable {
    /// In the order in which they leave.
    private(set) var ended: [Ended] = []

    @inline(__always)
    var isEmpty: Bool { ended.isEmpty }

    /// True if the next batch repeats what was sent and not answered.
    @inline(__always)
    var isRepeat: Bool { ended.first?.isRepeat == true }

    /// True if there is so much in it that a further call is worth its cost while another call is under way.
    var fillsFurtherCall: Bool {
        guard let first = ended.first else { return false }
        return ended.count
            >= (first.effort == 0 ? Calls.leastInFurther : Calls.leastTrackedInFurther)
    }

    /// Adds an operation that was not sent before.
    mutating func add(_ operation: HeldOperation, _ settlement: Settlement) {
        ended.append(Ended(operation: operation, settlement: settlement))
    }

    /// Takes what one call carries: at most a batch and 1 MiB, and no more tracked operations than keep the server's answer short. What
    /// fails or goes back costs as much as two that finish.
    mutating func takeBatch() -> [Ended] {
        let count = countBatch()
        var batch: [Ended] = []
        if count == ended.count {
            swap(&batch, &ended)
        } else {
            batch = Array(ended.prefix(count))
            ended.removeFirst(count)
        }
        return batch
    }

    private func countBatch() -> Int {
        let (most, isRepeat) = (min(ended.count, Defaults.batch), isRepeat)
        var (bytes, effort, count) = (0, 0, 0)
        while count < most {
            let next = ended[count]
            if next.isRepeat != isRepeat { break }
            bytes += next.byteCount
            effort += next.effort
            if count > 0, bytes > Defaults.operationBytes || effort > Defaults.trackedBatch { break }
            count += 1
        }
        return count
    }

    /// Puts back what was sent and not answered, to be repeated.
    mutating func putBack(_ unanswered: [Ended]) {
        ended.insert(
            contentsOf: unanswered.map { Ended(operation: $0.operation, settlement: $0.settlement, isRepeat: true) },
            at: 0
        )
    }
}
