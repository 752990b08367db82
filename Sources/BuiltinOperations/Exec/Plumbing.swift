import Foundation
import Glibc

/// The descriptors between a worker and a guard. Other children of the worker do not inherit the worker's ends.
struct Plumbing {
    let guardian: pid_t
    let control: Int32
    let report: Int32
    /// The pipe of stdout and stderr, which share it so that their lines keep their order. With `channels` the pipe of
    /// stdout only.
    let output: Int32
    /// The pipes of stderr and of descriptor 3, if they are separate.
    let channels: (errors: Int32, events: Int32)?

    /// Starts a guard.
    ///
    /// - Parameters:
    ///   - input: the program's stdin; nil = empty.
    ///   - guardPath: an executable whose `main` calls `ExecGuard.runIfAsked`.
    ///   - hasChannels: whether stderr is separate from stdout, and the program has a descriptor 3.
    /// - Throws: `ExecFailure` if no descriptor or process is free, or if the guard cannot be started.
    static func connect(input: [UInt8]?, guardPath: String, hasChannels: Bool) throws -> Plumbing {
        var theirs: [Int32] = []
        var ours: [Int32] = []
        defer { for descriptor in theirs { close(descriptor) } }
        do {
            theirs.append(try aside(source(of: input)))
            try addPipe(&ours, &theirs)
            try addSockets(&ours, &theirs)
            try addPipe(&ours, &theirs)
            if hasChannels {
                try addPipe(&ours, &theirs)
                try addPipe(&ours, &theirs)
            }
            // In the order of the guard's numbers: input, output, errors, control, reports, events.
            let numbers = hasChannels ? [0, 1, 4, 2, 3, 5] : [0, 1, 1, 2, 3]
            let guardian = try spawn(guardPath, numbers.map { theirs[$0] })
            return Plumbing(
                guardian: guardian,
                control: ours[1],
                report: ours[2],
                output: ours[0],
                channels: hasChannels ? (ours[3], ours[4]) : nil
            )
        } catch {
            for descriptor in ours { close(descriptor) }
            throw error
        }
    }

    /// Copies a descriptor to a number that the guard does not use, so that no later copy overwrites it.
    private static func aside(_ descriptor: Int32) throws -> Int32 {
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 16)
        let code = errno
        close(descriptor)
        guard copy >= 0 else { throw ExecFailure(starting: "a process", code) }
        return copy
    }

    private static func addPipe(_ ours: inout [Int32], _ theirs: inout [Int32]) throws {
        var ends: [Int32] = [0, 0]
        guard GNUCalls.pipe2(&ends, O_CLOEXEC) == 0 else { throw ExecFailure(starting: "a pipe", errno) }
        ours.append(ends[0])
        theirs.append(try aside(ends[1]))
    }

    private static func addSockets(_ ours: inout [Int32], _ theirs: inout [Int32]) throws {
        var ends: [Int32] = [0, 0]
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw ExecFailure(starting: "a socket", errno) }
        ours.append(ends[0])
        theirs.append(try aside(ends[1]))
    }

    /// Returns a descriptor for the program's stdin. The bytes are in memory, so that no thread must write to a pipe.
    private static func source(of input: [UInt8]?) throws -> Int32 {
        guard let input else {
            let null = open("/dev/null", O_RDONLY | O_CLOEXEC)
            guard null >= 0 else { throw ExecFailure(starting: "/dev/null", errno) }
            return null
        }
        let memory = GNUCalls.memfdCreate("stdin", GNUCalls.closeOnExecMemory)
        guard memory >= 0 else { throw ExecFailure(starting: "a file in memory", errno) }
        var written = 0
        while written < input.count {
            let count = input.withUnsafeBytes { write(memory, $0.baseAddress! + written, input.count - written) }
            guard count > 0 else {
                close(memory)
                throw ExecFailure(starting: "a file in memory", errno)
            }
            written += count
        }
        lseek(memory, 0, SEEK_SET)
        return memory
    }

    private static func spawn(_ path: String, _ descriptors: [Int32]) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (number, descriptor) in descriptors.enumerated() {
            posix_spawn_file_actions_adddup2(&actions, descriptor, Int32(number))
        }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // A session of its own: a terminal's Ctrl-C is for the worker, which decides about the program.
        posix_spawnattr_setflags(&attributes, GNUCalls.ownSession | Int16(POSIX_SPAWN_SETSIGMASK))
        var noSignals = sigset_t()
        sigemptyset(&noSignals)
        posix_spawnattr_setsigmask(&attributes, &noSignals)
        let hasEvents = descriptors.count > Int(GuardDescriptor.events)
        let words = [path, ExecGuard.argument] + (hasEvents ? [ExecGuard.withEvents] : [])
        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        // Programs can read their guard's environment, so pass only their variables.
        let inherited = ProgramEnvironment().selected(from: ProcessInfo.processInfo.environment)
        var variables: [UnsafeMutablePointer<CChar>?] = inherited.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for variable in variables { free(variable) } }
        var guardian: pid_t = 0
        let code = posix_spawn(&guardian, path, &actions, &attributes, &arguments, &variables)
        guard code == 0 else { throw ExecFailure(starting: "the guard \(path)", code) }
        return guardian
    }
}
