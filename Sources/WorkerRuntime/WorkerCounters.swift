import Foundation
import Operations
import Synchronization

/// Counters of a worker about itself.
final class WorkerCounters: Sendable {
    let finished = Atomic<Int64>(0)
    /// Failed attempts, also those that another attempt follows.
    let failed = Atomic<Int64>(0)
    let cancelled = Atomic<Int64>(0)
    /// Operations that could not be read.
    let malformed = Atomic<Int64>(0)
    /// Bodies that were given up on and still run.
    let stuck = Atomic<Int>(0)
    /// The number of cancel listeners whose subscription Redis refuses.
    let refusedListeners = Atomic<Int>(0)
    /// True if no task gets a thread.
    let isBlocked = Atomic<Bool>(false)
    /// The last logged state of the threads of blocking bodies.
    let threadShortage = Atomic(ThreadShortage.none)
    /// Read once, because the system may have to look it up.
    let host = ProcessInfo.processInfo.hostName
    let startedAt = Int64(Date().timeIntervalSince1970 * 1000)

    func count(_ settlement: Settlement) {
        switch settlement {
        case .finished: finished.wrappingAdd(1, ordering: .relaxed)
        case .failed(.cancelled, _), .failed(.cancelledByStanding, _): cancelled.wrappingAdd(1, ordering: .relaxed)
        case .failed(.snoozed, _), .failed(.yielded, _), .returned: break
        case .failed: failed.wrappingAdd(1, ordering: .relaxed)
        }
    }

    func countMalformed() { malformed.wrappingAdd(1, ordering: .relaxed) }

    /// Resident memory of this process in bytes; 0 if the system does not report it.
    static var residentBytes: Int64 {
        guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return 0 }
        let fields = text.split(separator: " ")
        return fields.count > 1 ? (Int64(fields[1]) ?? 0) * Int64(sysconf(Int32(_SC_PAGESIZE))) : 0
    }
}

/// Whether stuck bodies take threads from other blocking operations.
enum ThreadShortage: UInt8, AtomicRepresentable {
    /// No body is stuck.
    case none
    /// Every stuck body's thread has been replaced.
    case replaced
    /// More bodies are stuck than threads may be replaced.
    case exhausted

    init(_ status: BlockingThreads.Status) {
        self = status.stuck == 0 ? .none : status.stuck <= status.replacements ? .replaced : .exhausted
    }
}

extension WorkerCore {
    /// Returns the description of this worker for the next heartbeats.
    func info() -> WorkerInfo {
        let (slots, phase, names) = queue.withLock {
            ($0.slots, $0.phase, $0.members.prefix(WorkerInfo.queuesNamed).map(\.share.name))
        }
        let pid = ProcessInfo.processInfo.processIdentifier
        return WorkerInfo(
            host: counters.host,
            pid: Int(pid),
            name: configuration.name ?? "\(counters.host)-\(pid)",
            slots: slots.count,
            busy: slots.running,
            queues: names,
            handles: registry.names,
            version: SluiceDefaults.version,
            build: configuration.build,
            startedAt: counters.startedAt,
            finished: counters.finished.load(ordering: .relaxed),
            failed: counters.failed.load(ordering: .relaxed),
            cancelled: counters.cancelled.load(ordering: .relaxed),
            malformed: counters.malformed.load(ordering: .relaxed),
            phase: phase == .stopped ? LocalQueue.Phase.draining.rawValue : phase.rawValue,
            residentBytes: WorkerCounters.residentBytes,
            stuck: counters.stuck.load(ordering: .relaxed),
            clock: Int64(Date().timeIntervalSince1970 * 1000)
        )
    }
}
