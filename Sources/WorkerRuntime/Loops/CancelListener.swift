import Operations
import Synchronization

/// Cancels operations as soon as a message reports that a cancel is stored. Notes messages about unhandled names for
/// the next claim.
///
/// For each message about a cancel:
/// 1. Notes the fence that the message names. A message alone ends nothing: it may be wrong, or forged.
/// 2. Reads the stored cancels of all noted fences of the queue in one call. If such a call is in flight, the next one
///    takes them along.
/// 3. Cancels the operations that the answer confirms. If Redis did not answer, or after a gap, requests a heartbeat,
///    because its reply has every cancel.
struct CancelListener: Sendable {
    let core: WorkerCore
    let queues: [String]

    func run() async {
        let hints = CancelHints()
        await withDiscardingTaskGroup { group in
            for await message in core.broker.controlMessages(worker: core.id, queues: queues) {
                let (queue, fence): (String, Int64?)
                switch message {
                case .resubscribed:
                    // Messages about names may have been lost meanwhile.
                    core.queue.withLock { $0.forgetSeenNames() }
                    core.beatNow.request()
                    continue
                case .controlled, .schedules:
                    core.beatNow.request()
                    continue
                case .outbox(let named):
                    core.sweeps.request(named, isUrgent: true)
                    core.relays.request(named)
                    continue
                case .refused(let error):
                    core.cancelsAreRefused(error)
                    continue
                case .accepted:
                    core.cancelsAreAccepted()
                    continue
                case .cancel(let named, let number): (queue, fence) = (named, number)
                case .cancelThrough(let named): (queue, fence) = (named, nil)
                case .unhandled(let named, let name):
                    if let index = core.index(of: named) { core.unhandled([name], index) }
                    continue
                }
                guard let index = core.index(of: queue), hints.add(fence, queue) else { continue }
                group.addTask { await confirm(hints, queue, index) }
            }
        }
    }

    private func confirm(_ hints: CancelHints, _ queue: String, _ index: Int) async {
        while let noted = hints.take(queue) {
            do {
                let requested = try await core.broker.requestedCancels(of: noted, worker: core.id, queue: queue)
                for order in requested.cancels { core.cancel(order, index) }
                core.cancelThrough(requested.throughFence, requested.queueCancel, index)
            } catch {
                core.beatNow.request()
            }
        }
    }
}

extension WorkerCore {
    /// Logs once for all queues that the worker gets no messages about cancels.
    func cancelsAreRefused(_ error: OperationsError) {
        guard counters.refusedListeners.wrappingAdd(1, ordering: .relaxed).newValue == 1 else { return }
        logger.warning(
            "cancels of running operations are noticed only by heartbeats",
            metadata: ["error": "\(error)", "heartbeatInterval": "\(configuration.beatInterval)"]
        )
    }

    func cancelsAreAccepted() {
        guard counters.refusedListeners.wrappingSubtract(1, ordering: .relaxed).newValue == 0 else { return }
        logger.notice("cancels of running operations are noticed at once again")
    }
}

/// The fences that messages have named and that no call has read yet.
private final class CancelHints: Sendable {
    private struct Noted {
        var fences: Set<Int64> = []
        var isToBeRead = true
    }

    /// The maximum number of fences per queue; the cancels of others come with the next heartbeat.
    private static let limit = 20 * SluiceDefaults.batch
    /// The queues for which a task is reading.
    private let queues = Mutex<[String: Noted]>([:])

    /// - Parameter fence: nil = the whole queue.
    /// - Returns: true if no task reads for this queue yet; the caller then starts one.
    func add(_ fence: Int64?, _ queue: String) -> Bool {
        queues.withLock { queues in
            let isFirst = queues[queue] == nil
            var noted = queues[queue] ?? Noted()
            if let fence, noted.fences.count < Self.limit { noted.fences.insert(fence) }
            noted.isToBeRead = true
            queues[queue] = noted
            return isFirst
        }
    }

    /// - Returns: the fences whose cancels the task reads next, at most a batch. Empty after a cancel of the whole
    ///   queue; nil if no cancel is left, so the task ends.
    func take(_ queue: String) -> [Int64]? {
        queues.withLock { queues in
            guard var noted = queues[queue], noted.isToBeRead else {
                queues[queue] = nil
                return nil
            }
            let batch = Array(noted.fences.prefix(SluiceDefaults.batch))
            noted.fences.subtract(batch)
            noted.isToBeRead = !noted.fences.isEmpty
            queues[queue] = noted
            return batch
        }
    }
}
