import BuiltinOperations
import Foundation
import Logging
import Operations
import RedisBroker
import TerminalText
import WorkerRuntime
import Synchronization

/// Runs a worker as several processes: starts them, restarts ended ones, and passes signals on. Recovers the operations
/// of a dead process at once.
final class Supervisor: Sendable {
    /// The number of attempts to recover the operations of a dead process. After that, a sweep recovers them when the
    /// lease has lapsed.
    private static let tries = 5

    private struct State {
        var processes: [Int: WorkerProcess] = [:]
        /// The pauses before the next start, by slot.
        var pauses: [Int: Task<Void, Never>] = [:]
        var isStopping = false
        var failure: ExitStatus?
    }

    private let count: Int
    private let configuration: WorkerConfiguration
    private let arguments: [String]
    private let broker: RedisBroker
    private let logger: Logger
    private let board: HealthBoard?
    private let parentPipe: Int32
    /// Children of this process that are not workers.
    private let others: Set<pid_t>
    private let state = Mutex(State())

    /// Prepares the processes.
    ///
    /// - Parameter arguments: the arguments of this process.
    /// - Throws: `CLIError` if no descriptors are left.
    init(
        count: Int,
        configuration: WorkerConfiguration,
        arguments: [String],
        broker: RedisBroker,
        board: HealthBoard?,
        logger: Logger
    ) throws(CLIError) {
        self.count = count
        self.configuration = configuration
        self.arguments = arguments
        self.broker = broker
        self.board = board
        self.logger = logger
        parentPipe = try ParentWatch.make()
        others = Set(OrphanedGuards.children())
        OrphanedGuards.adopt()
    }

    /// Runs until the supervisor is stopped, or until all processes have ended for good.
    ///
    /// - Returns: the status of a process that could not work at all; nil = none.
    func run() async -> ExitStatus? {
        await withTaskGroup(of: Void.self) { group in
            for slot in 0..<count { group.addTask { await self.keep(slot) } }
        }
        return state.withLock { $0.failure }
    }

    /// Passes the first or the second signal to each process.
    func stop() {
        let (processes, pauses) = state.withLock { state in
            state.isStopping = true
            return (Array(state.processes.values), Array(state.pauses.values))
        }
        for process in processes { process.send(SIGTERM) }
        for pause in pauses { pause.cancel() }
    }

    func health() -> WorkerHealth {
        let (workers, isStopping) = state.withLock { ($0.processes.values.map(\.worker), $0.isStopping) }
        guard !isStopping, let board else { return WorkerHealth(isReady: false, reason: "draining") }
        return board.health(of: workers, count: count)
    }

    // MARK: Running

    /// Keeps the process of a slot running.
    private func keep(_ slot: Int) async {
        var plan = RestartPlan(burst: configuration.burst)
        var recovery: Task<Void, Never>?
        while let process = start(slot) {
            let end = await process.end()
            let isStopping = state.withLock { state in
                state.processes[slot] = nil
                return state.isStopping
            }
            board?.clear(process.worker)
            if !end.isClean {
                recovery = Task { [earlier = recovery] in
                    await recover(process)
                    await earlier?.value
                }
            }
            let step = plan.step(after: end, lifetime: .now - process.startedAt, isStopping: isStopping)
            note(process, end, step)
            switch step {
            case .restart(let pause): await wait(pause, slot)
            case .fail(let status): fail(status)
            case .done: break
            }
            if case .restart = step { continue }
            break
        }
        await recovery?.value
    }

    /// Starts a process under the lock. Without it, a process that is not recorded yet would count as an orphan.
    private func start(_ slot: Int) -> WorkerProcess? {
        let worker = WorkerID()
        let arguments = ChildArguments.make(from: arguments, worker: worker, health: board?.path(of: worker))
        return state.withLock { state -> WorkerProcess? in
            guard !state.isStopping else { return nil }
            do throws(CLIError) {
                let process = try WorkerProcess(worker, arguments: arguments, parentPipe: parentPipe)
                state.processes[slot] = process
                return process
            } catch {
                logger.error("\(error.message)")
                state.failure = error.status
                return nil
            }
        }
    }

    private func wait(_ pause: Duration, _ slot: Int) async {
        let task = Task { _ = try? await Task.sleep(for: pause) }
        state.withLock { state in
            if state.isStopping { task.cancel() } else { state.pauses[slot] = task }
        }
        await task.value
        state.withLock { $0.pauses[slot] = nil }
    }

    private func fail(_ status: ExitStatus) {
        state.withLock { $0.failure = $0.failure ?? status }
        stop()
    }

    private func note(_ process: WorkerProcess, _ end: WorkerProcess.End, _ step: RestartPlan.Step) {
        var facts: Logger.Metadata = ["pid": "\(process.pid)", "worker": "\(process.worker)", "end": "\(end)"]
        if case .restart(let pause) = step { facts["restart"] = "in \(DurationText.precise(pause))" }
        logger.log(level: end.isClean ? .info : .warning, "a worker process has ended", metadata: facts)
    }

    // MARK: Operations of a dead process

    /// Recovers the operations of a dead process without waiting for its lease. First waits until the programs that the
    /// process has started have ended too.
    private func recover(_ process: WorkerProcess) async {
        await waitForPrograms()
        for attempt in 1...Self.tries {
            do {
                for queue in try await queues() { try await recover(process.worker, queue) }
                return
            } catch {
                logger.warning(
                    "could not recover the operations of a dead worker; a sweep recovers them when the lease ends",
                    metadata: ["worker": "\(process.worker)", "error": "\(error)"]
                )
                if attempt < Self.tries { try? await Task.sleep(for: .seconds(1)) }
            }
        }
    }

    private func recover(_ worker: WorkerID, _ queue: String) async throws {
        var sum = SweepReply()
        repeat {
            let reply = try await broker.recoverWorker(worker: worker, queue: queue)
            sum = SweepReply(recovered: sum.recovered + reply.recovered, dead: sum.dead + reply.dead, more: reply.more)
        } while sum.more
        guard sum.recovered + sum.dead > 0 else { return }
        logger.warning(
            "recovered the operations of a dead worker",
            metadata: [
                "worker": "\(worker)", "queue": "\(queue)", "recovered": "\(sum.recovered)", "dead": "\(sum.dead)",
            ]
        )
    }

    private func queues() async throws -> [String] {
        switch configuration.queues {
        case .all: try await broker.queues()
        case .named(let shares): shares.map(\.name)
        }
    }

    /// The longest wait in milliseconds for the programs of a killed worker to end: the duration of a lease. Guards of
    /// programs usually need a few milliseconds.
    private var patienceForGuards: Int { Int(configuration.lease / .milliseconds(1)) }

    private func waitForPrograms() async {
        let areGone = await withCheckedContinuation { continuation in
            DispatchQueue.global().async { [self] in
                let areGone = OrphanedGuards.collect(sparing: { known }, within: patienceForGuards)
                continuation.resume(returning: areGone)
            }
        }
        if !areGone {
            logger.warning(
                "programs of a dead worker do not end; its operations are recovered although the programs still run"
            )
        }
    }

    private var known: Set<pid_t> { others.union(state.withLock { $0.processes.values.map(\.pid) }) }
}

extension WorkerProcess.End {
    /// Whether the worker has given back all its operations.
    fileprivate var isClean: Bool { [.exited(code: 0), .exited(code: ExitStatus.stopped.rawValue)].contains(self) }
}
