import Logging
import Operations
import Synchronization

/// Queues in which a sweep is due, as heartbeats and messages say.
final class SweepRequests: Sendable {
    private struct Requests {
        var names: Set<String> = []
        /// True if dependents wait for a sweep.
        var isUrgent = false
    }

    private let requests = Mutex(Requests())
    let signal = Signal()

    func request(_ name: String, isUrgent: Bool = false) {
        requests.withLock { requests in
            requests.names.insert(name)
            requests.isUrgent = requests.isUrgent || isUrgent
        }
        signal.raise()
    }

    var isUrgent: Bool { requests.withLock { $0.isUrgent } }

    func take() -> Set<String> {
        requests.withLock { requests in
            defer { requests = Requests() }
            return requests.names
        }
    }
}

/// Recovers the operations of lost workers, and clears cancelled queues away.
///
/// One pass: waits for a heartbeat or a message that reports a due sweep. Then waits for a short random time, so that
/// not every worker sweeps. Then sweeps in bounded steps until nothing is left.
struct Sweeper: Sendable {
    private static let jitter: ClosedRange<Double> = 0...0.4
    /// The random pause while dependents wait for an end.
    private static let urgentJitter: ClosedRange<Double> = 0...0.01
    let core: WorkerCore

    func run() async {
        while !Task.isCancelled {
            await core.sweeps.signal.wait()
            let jitter = core.sweeps.isUrgent ? Self.urgentJitter : Self.jitter
            try? await Task.sleep(for: .seconds(Double.random(in: jitter)))
            await runOnce()
        }
    }

    /// Sweeps all queues in which a sweep is due.
    func runOnce() async { for name in core.sweeps.take() where !Task.isCancelled { await sweep(name) } }

    private func sweep(_ name: String) async {
        do {
            var reply: SweepReply
            repeat {
                reply = try await core.broker.sweep(queue: name)
                if reply.recovered > 0 || reply.dead > 0 { log(reply, name) }
            } while reply.more && !Task.isCancelled
        } catch {
            // The next heartbeat requests the sweep again.
            core.logger.info("a sweep failed", metadata: ["queue": "\(name)", "error": "\(error)"])
        }
    }

    private func log(_ reply: SweepReply, _ name: String) {
        core.logger.warning(
            "recovered operations of a lost worker",
            metadata: ["queue": "\(name)", "recovered": "\(reply.recovered)", "dead": "\(reply.dead)"]
        )
    }
}
