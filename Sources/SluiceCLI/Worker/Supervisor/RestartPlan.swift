import WorkerRuntime

/// Decides the supervisor's next step after the end of a process.
struct RestartPlan: Sendable {
    enum Step: Sendable, Equatable {
        case restart(after: Duration)
        /// Do not start the process again.
        case done
        /// End all processes with this status, because the others would end the same way.
        case fail(ExitStatus)
    }

    /// The lifetime after which an ended process is restarted at once.
    static let steady: Duration = .seconds(10)
    private static let first: Duration = .milliseconds(100)
    private static let longest: Duration = .seconds(30)

    let burst: WorkerConfiguration.Burst
    /// The number of restarts since the last process that lived for `steady`, including its own restart.
    private var failures = 0
    private var isFirstLife = true

    init(burst: WorkerConfiguration.Burst) { self.burst = burst }

    /// Decides the next step.
    ///
    /// - Parameters:
    ///   - end: the way in which the process ended.
    ///   - lifetime: the time for which the process lived.
    ///   - isStopping: whether the supervisor is stopping.
    mutating func step(after end: WorkerProcess.End, lifetime: Duration, isStopping: Bool) -> Step {
        defer { isFirstLife = false }
        if isStopping { return .done }
        if case .exited(let code) = end {
            if code == ExitStatus.stopped.rawValue { return .done }
            if code == 0, burst != .none { return .done }
            let status = ExitStatus(rawValue: code) ?? .bug
            let isHopeless = isFirstLife && [.usage, .denied, .badConfiguration].contains(status)
            if isHopeless || (code != 0 && status != .replaced && burst != .none) { return .fail(status) }
        }
        if lifetime >= Self.steady { failures = 0 }
        defer { failures += 1 }
        return .restart(after: failures == 0 ? .zero : min(Self.first * (1 << min(failures - 1, 16)), Self.longest))
    }
}
