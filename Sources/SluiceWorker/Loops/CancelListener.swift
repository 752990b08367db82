import Operations

/// Hands messages to this worker on. They are hints: a lost one comes with the next heartbeat.
struct CancelListener: Sendable {
    let core: WorkerCore
    let queues: [String]

    func run() async {
        for await message in core.broker.controlMessages(worker: core.id, queues: queues) {
            switch message {
            case .cancel(let queue, let order):
                if let index = core.index(of: queue) { core.cancel(order, index) }
            case .cancelThrough(let queue, let fence):
                if let index = core.index(of: queue) { core.cancelThrough(fence, index) }
            case .resubscribed: core.beatNow.request()
            }
        }
    }
}
