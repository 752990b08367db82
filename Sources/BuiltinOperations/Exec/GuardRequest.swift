/// What the worker tells its guard to start, as bytes on their socket: a length of four bytes, then strings, each with a
/// NUL at its end. It does not go through the guard's own arguments and environment: those are visible to others, and an
/// `LD_PRELOAD` meant for the program should not meet the guard.
struct GuardRequest: Equatable {
    /// The program and its arguments; at least one.
    var arguments: [String]
    /// `KEY=value`.
    var environment: [String]
    /// Empty = the worker's own.
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

    /// Reads the strings that follow the length; nil if they are no request.
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

/// What the guard tells the worker, one line each.
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

/// What the worker tells its guard while the program runs: one byte each. The end of the socket means: kill everything.
enum GuardOrder: UInt8 {
    /// SIGTERM to the program's group.
    case terminate = 0x54
    /// SIGKILL to everything that the program started.
    case kill = 0x4b
}

/// The guard's file descriptors beside the standard ones.
enum GuardDescriptor {
    /// Requests and orders in; it ends when the worker does.
    static let control: Int32 = 3
    /// Reports out.
    static let report: Int32 = 4
    /// Where it was asked for: the program's descriptor 3.
    static let events: Int32 = 5
}
