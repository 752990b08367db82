/// The exit statuses of the command line. `sluice help exit-codes` prints them.
package enum ExitStatus: Int32, Error, CaseIterable, Sendable {
    case done = 0
    case dead = 1
    case cancelled = 2
    case notFound = 3
    case timedOut = 4
    case refused = 5
    case partly = 6
    case usage = 64
    case unreachable = 69
    case bug = 70
    case unwritten = 74
    case replaced = 75
    case stopped = 76
    case denied = 77
    case badConfiguration = 78
    case interrupted = 130
    case terminated = 143

    package var meaning: String {
        switch self {
        case .done: "done (and, for wait and --wait, everything finished)"
        case .dead: "the operation is dead: its attempts are used up; doctor: there is an error"
        case .cancelled: "the operation was cancelled or expired"
        case .notFound: "not found: an operation, queue or worker is unknown"
        case .timedOut: "--timeout passed"
        case .refused: "refused: not possible in this state, not confirmed, or --read-only"
        case .partly: "several targets: some done, some refused; or wait: --scan-limit was reached"
        case .usage: "usage: an argument or input is wrong; nothing was done"
        case .unreachable: "Redis cannot be reached"
        case .bug: "a bug in this program"
        case .unwritten: "cannot write to stdout; stderr says what was done"
        case .replaced: "worker --stuck replace: an operation was stuck; start the worker again"
        case .stopped: "a process of worker --processes: an operator has stopped it; it is not started again"
        case .denied:
            "Redis denied user, password or permission, or its TLS certificate is not trusted (other host, expired, unknown)"
        case .badConfiguration: "the configuration is wrong, or the namespace has another protocol than this program"
        case .interrupted: "interrupted (Ctrl-C)"
        case .terminated:
            "terminated by SIGTERM (0 for commands that run until they are stopped: a drained worker, stat, events)"
        }
    }

    package static var table: String {
        allCases.map { status in
            let code = String(status.rawValue)
            return String(repeating: " ", count: 5 - code.count) + code + "  " + status.meaning
        }.joined(separator: "\n")
    }
}

extension ExitStatus {
    /// The status for several targets: the status of the first problem, or 6 if some targets were done and some were
    /// not.
    package static func of(_ statuses: some Sequence<ExitStatus>) -> ExitStatus {
        var firstProblem: ExitStatus?
        var someDone = false
        for status in statuses {
            if status == .done { someDone = true } else if firstProblem == nil { firstProblem = status }
        }
        guard let firstProblem else { return .done }
        return someDone ? .partly : firstProblem
    }
}
