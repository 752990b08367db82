import Operations

struct WakeUpWaiter {
    var queues: [String]
    var continuation: CheckedContinuation<String?, any Error>
    var timer: Task<Void, Never>?

    func resume(with result: Result<String?, any Error>) {
        timer?.cancel()
        continuation.resume(with: result)
    }
}

struct EndWaiter {
    var queue: String
    var ids: [OperationID]
    var progress: (@Sendable ([OperationState?]) -> Void)?
    var continuation: CheckedContinuation<Void, any Error>
    var timer: Task<Void, Never>?

    func resume(with result: Result<Void, any Error>) {
        timer?.cancel()
        continuation.resume(with: result)
    }

    /// Whether all operations have ended or are unknown, so that the wait is over.
    func isOver(in model: QueueModel) -> Bool {
        model.states(of: ids).allSatisfy { $0?.isTerminal ?? true }
    }
}

struct ControlSubscriber {
    var worker: String
    var queues: [String]
    var continuation: AsyncStream<ControlMessage>.Continuation
}

struct EventSubscriber {
    var queues: [String]
    var continuation: AsyncThrowingStream<EventBatch, any Error>.Continuation
}

struct Follower {
    var id: OperationID
    var queue: String
    var continuation: AsyncStream<Void>.Continuation
}

/// The waiters and subscribers of all queues.
struct Listeners {
    var wakeUps: [Int: WakeUpWaiter] = [:]
    var ends: [Int: EndWaiter] = [:]
    var controls: [Int: ControlSubscriber] = [:]
    var events: [Int: EventSubscriber] = [:]
    var followers: [Int: Follower] = [:]
    var isControlCut = false
    private var lastTicket = 0

    mutating func newTicket() -> Int {
        lastTicket += 1
        return lastTicket
    }

    /// Delivers the effects of a call, and gives the wake-up token to the longest waiter.
    mutating func notify(of model: inout QueueModel) {
        if !model.effects.isEmpty {
            publishEvents(of: &model)
            publishProgress(of: model)
            publishControl(of: model)
            resumeWaiters(of: model)
            model.effects = CallEffects()
        }
        if model.hasToken { handOutToken(of: &model) }
    }

    private mutating func handOutToken(of model: inout QueueModel) {
        let queue = model.queue
        guard let ticket = wakeUps.filter({ $0.value.queues.contains(queue) }).keys.min() else { return }
        model.hasToken = false
        wakeUps.removeValue(forKey: ticket)?.resume(with: .success(queue))
    }

    private func publishEvents(of model: inout QueueModel) {
        var number = model.effects.counts.values.reduce(0, +)
        if number == 0, model.effects.change != nil { number = 1 }
        guard number > 0 else { return }
        model.eventSequence += Int64(number)
        let batch = EventBatch(
            queue: model.queue,
            from: model.eventSequence - Int64(number) + 1,
            to: model.eventSequence,
            counts: model.effects.counts,
            transitions: model.effects.transitions,
            change: model.effects.change,
            subject: model.effects.change?.count == 1 ? model.effects.subject : nil
        )
        if model.effects.isKept || batch.change != nil { model.store(batch) }
        for subscriber in events.values where subscriber.queues.contains(model.queue) {
            subscriber.continuation.yield(batch)
        }
        for follower in followers.values where follower.queue == model.queue && batch.mayConcern(follower.id) {
            follower.continuation.yield()
        }
    }

    private func publishProgress(of model: QueueModel) {
        for follower in followers.values
        where follower.queue == model.queue && model.effects.progressed.contains(follower.id) {
            follower.continuation.yield()
        }
    }

    private func publishControl(of model: QueueModel) {
        guard !isControlCut else { return }
        for (worker, message) in model.effects.messages {
            for subscriber in controls.values
            where subscriber.queues.contains(model.queue) && (worker == nil || worker == subscriber.worker) {
                subscriber.continuation.yield(message)
            }
        }
    }

    private mutating func resumeWaiters(of model: QueueModel) {
        for (ticket, waiter) in ends where waiter.queue == model.queue {
            guard waiter.isOver(in: model) else {
                waiter.progress?(model.states(of: waiter.ids))
                continue
            }
            ends.removeValue(forKey: ticket)?.resume(with: .success(()))
        }
    }
}
