import WorkerRuntime

/// Decides what a supervisor does when one of its processes has ended.
struct RestartPlan: Sendable {
    enum Step: Sendable, Equatable {
        case restart(after: Duration)
        /// Do not start the process again.
        case done
        /// End all processes with this status, because the others would end the same way.
        case fail(ExitStatus)
    }

    /// A process that lived this long is restarted at once.
    static let steady: Duration = .seconds(10)
    private static let first: Duration = .milliseconds(100)
    private static let longest: Duration = .seconds(30)

    let burst: WorkerConfiguration.Burst
    /// How many processes in a row ended after a short life.
    private var failures = 0
    private var isFirstLife = true

    init(burst: WorkerConfiguration.Burst) { self.burst = burst }

    /// - Parameters:
    ///   - end: how the process ended.
    ///   - lifetime: how long it lived.
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
