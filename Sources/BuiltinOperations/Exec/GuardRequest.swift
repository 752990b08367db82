/// The program for a guard to start. The worker sends it through a socket: a length of four bytes, then strings that
/// end with NUL.
///
/// The request does not use the guard's own arguments and environment. Other users can see those, and an `LD_PRELOAD`
/// for the program must not affect the guard.
struct GuardRequest: Equatable {
    /// The program and its arguments, at least one.
    var arguments: [String]
    /// The variables as `KEY=value`.
    var environment: [String]
    /// The folder; empty = the worker's.
    var directory: String

    init(arguments: [String], environment: [String], directory: String) {
        self.arguments = arguments
        self.environment = environment
        self.directory = directory
    }

    static let longest = 4 << 20

    var encoded: [UInt8] {
        var body: [UInt8] = []
        for text in [directory, "\(arguments.count)"] + arguments + environment { body += Array(text.utf8) + [0] }
        let count = UInt32(body.count)
        return withUnsafeBytes(of: count.littleEndian) { Array($0) } + body
    }

    /// Parses the strings after the length; returns nil if they are not a request.
    init?(_ body: [UInt8]) {
        guard body.last == 0 else { return nil }
        let strings = body.dropLast().split(separator: 0, omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        guard strings.count >= 3, let count = Int(strings[1]), (1...strings.count - 2).contains(count) else {
            return nil
        }
        self.init(
            arguments: Array(strings[2..<(2 + count)]),
            environment: Array(strings[(2 + count)...]),
            directory: strings[0]
        )
    }
}

/// A report of the guard to the worker, one line each.
enum GuardReport: Equatable {
    /// The program runs, in a process group of this number.
    case started(group: Int32)
    /// The program could not be started.
    case refused(StartStep, errno: Int32)
    case exited(code: Int32)
    case killed(signal: Int32)

    var line: String {
        switch self {
        case .started(let group): "started \(group)\n"
        case .refused(let step, let errno): "refused \(errno) \(step.rawValue)\n"
        case .exited(let code): "exited \(code)\n"
        case .killed(let signal): "killed \(signal)\n"
        }
    }

    init?(_ line: some StringProtocol) {
        let words = line.split(separator: " ")
        guard words.count >= 2, let number = Int32(words[1]) else { return nil }
        switch words[0] {
        case "started": self = .started(group: number)
        case "refused":
            guard words.count == 3, let step = StartStep(rawValue: String(words[2])) else { return nil }
            self = .refused(step, errno: number)
        case "exited": self = .exited(code: number)
        case "killed": self = .killed(signal: number)
        default: return nil
        }
    }
}

/// A worker's request to its guard while the program runs, one byte each. The end of the socket means: kill all
/// processes.
enum GuardOrder: UInt8 {
    /// Send SIGTERM to the program's group.
    case terminate = 0x54
    /// Send SIGKILL to all processes that the program started.
    case kill = 0x4b
}

/// The guard's descriptors after the standard ones.
enum GuardDescriptor {
    /// The socket for requests, which ends when the worker ends.
    static let control: Int32 = 3
    /// The pipe for reports.
    static let report: Int32 = 4
    /// The program's descriptor 3, if requested.
    static let events: Int32 = 5
}
