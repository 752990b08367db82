import Glibc

/// A process between a worker and a program. When the worker ends in any way, the guard kills the program and all
/// processes that the program started.
///
/// The worker starts the guard as `/proc/self/exe __guard`, so both are the same executable: `main` must call
/// `runIfAsked` first.
package enum ExecGuard {
    /// The first argument that makes this process a guard.
    static let argument = "__guard"
    /// The second argument if the program gets a descriptor 3.
    static let withEvents = "events"

    /// Runs as a guard and never returns, if this process was started as one. Call this before anything else.
    ///
    /// - Parameter arguments: the command line, with the program's name.
    package static func runIfAsked(arguments: [String] = CommandLine.arguments) {
        guard arguments.dropFirst().first == argument else { return }
        switch arguments.dropFirst(2) {
        case []: Guard(hasEvents: false).run()
        case [withEvents]: Guard(hasEvents: true).run()
        default: return
        }
    }
}

/// A guard: reads the request, starts the program, and waits for its end or the worker's.
private struct Guard {
    let hasEvents: Bool

    func run() -> Never {
        isolate()
        guard let request = readRequest() else { _exit(0) }
        let child = start(request)
        report(.started(group: child))
        let status = supervise(child)
        killEverything(group: child)
        report(status & 0x7f == 0 ? .exited(code: (status >> 8) & 0xff) : .killed(signal: status & 0x7f))
        _exit(0)
    }

    /// Ignores signals that a terminal or an operator sends to whole groups: the worker handles those. Makes orphans of
    /// the program children of this process.
    private func isolate() {
        for number in [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGPIPE] { signal(number, SIG_IGN) }
        signal(SIGCHLD, SIG_DFL)  // if ignored, the kernel would discard the program's status
        _ = GNUCalls.prctl(GNUCalls.childSubreaper, 1, 0, 0, 0)
        for descriptor in GuardDescriptor.control...lastDescriptor {
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        }
        closeOthers()
    }

    private var lastDescriptor: Int32 { hasEvents ? GuardDescriptor.events : GuardDescriptor.report }

    /// Closes all other descriptors of the worker.
    ///
    /// If `main` is asynchronous, Dispatch already waits for events in this process. Dispatch's descriptors must stay
    /// open, or its thread would spin. The kernel closes them when the program is executed.
    private func closeOthers() {
        for descriptor in openDescriptors() where descriptor > lastDescriptor {
            var target = [UInt8](repeating: 0, count: 64)
            let length = target.withUnsafeMutableBytes {
                readlink("/proc/self/fd/\(descriptor)", $0.baseAddress!, $0.count)
            }
            if target.prefix(max(0, length)).starts(with: Array("anon_inode:".utf8)) {
                _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
            } else {
                close(descriptor)
            }
        }
    }

    private func openDescriptors() -> [Int32] {
        guard let folder = opendir("/proc/self/fd") else { return [] }
        defer { closedir(folder) }
        var found: [Int32] = []
        while let entry = readdir(folder) {
            if let descriptor = Int32(Self.name(entry)), descriptor != dirfd(folder) { found.append(descriptor) }
        }
        return found
    }

    private static func name(_ entry: UnsafeMutablePointer<dirent>) -> String {
        withUnsafePointer(to: &entry.pointee.d_name) {
            $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        }
    }

    // MARK: Request

    private func readRequest() -> GuardRequest? {
        guard let header = readBytes(4) else { return nil }
        let count = header.reversed().reduce(0) { $0 << 8 | Int($1) }
        guard count <= GuardRequest.longest, let body = readBytes(count) else { return nil }
        return GuardRequest(body)
    }

    private func readBytes(_ count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        var filled = 0
        while filled < count {
            let got = bytes.withUnsafeMutableBytes {
                read(GuardDescriptor.control, $0.baseAddress! + filled, count - filled)
            }
            if got <= 0 {
                if got < 0, errno == EINTR { continue }
                return nil
            }
            filled += got
        }
        return bytes
    }

    private func report(_ report: GuardReport) {
        let line = Array(report.line.utf8)
        _ = line.withUnsafeBytes { write(GuardDescriptor.report, $0.baseAddress!, $0.count) }
    }

    // MARK: Program

    /// How often to retry a program file that is open for writing, every millisecond.
    private static let busyRetries = 500

    /// Starts the program in a group of its own, or reports the error and ends.
    private func start(_ request: GuardRequest) -> pid_t {
        let path = locate(request)
        let arguments = Self.pointers(request.arguments)
        let environment = Self.pointers(request.environment)
        let program = strdup(path)
        var failure: [Int32] = [0, 0]
        guard GNUCalls.pipe2(&failure, O_CLOEXEC) == 0 else { refuse(.process, errno) }
        let guardian = getpid()
        var noSignals = sigset_t()
        sigemptyset(&noSignals)
        let (prctl, deathSignal, busyRetries) = (GNUCalls.prctl, GNUCalls.deathSignal, Self.busyRetries)
        let events = hasEvents ? GuardDescriptor.events : -1
        let child = GNUCalls.fork()
        if child == 0 {
            // After a fork, call only safe functions, on memory that was prepared before.
            setpgid(0, 0)
            _ = prctl(deathSignal, UInt(SIGKILL), 0, 0, 0)
            if getppid() != guardian { _exit(127) }
            // The program's descriptor 3 replaces the control socket, which only the guard uses.
            if events >= 0, dup2(events, 3) < 0 { _exit(127) }
            signal(SIGINT, SIG_DFL)
            signal(SIGTERM, SIG_DFL)
            signal(SIGHUP, SIG_DFL)
            signal(SIGQUIT, SIG_DFL)
            signal(SIGUSR1, SIG_DFL)
            signal(SIGUSR2, SIG_DFL)
            signal(SIGPIPE, SIG_DFL)
            sigprocmask(SIG_SETMASK, &noSignals, nil)
            execve(program!, arguments, environment)
            // Another process that was forked in between may still hold the file open for writing until its own exec.
            for _ in 0..<busyRetries where errno == ETXTBSY {
                poll(nil, 0, 1)
                execve(program!, arguments, environment)
            }
            var reason = errno
            write(failure[1], &reason, MemoryLayout<Int32>.size)
            _exit(127)
        }
        if child < 0 { refuse(.process, errno) }
        setpgid(child, child)
        close(failure[1])
        var reason: Int32 = 0
        if read(failure[0], &reason, MemoryLayout<Int32>.size) > 0 {
            waitpid(child, nil, 0)
            refuse(.program, reason)
        }
        close(failure[0])
        return child
    }

    private func refuse(_ step: StartStep, _ reason: Int32) -> Never {
        report(.refused(step, errno: reason))
        _exit(0)
    }

    /// Enters the program's folder and finds its file from there.
    private func locate(_ request: GuardRequest) -> String {
        if !request.directory.isEmpty, chdir(request.directory) != 0 { refuse(.directory, errno) }
        switch ProgramSearch.find(request.arguments[0], path: request.path) {
        case .found(let place): return place
        case .forbidden: refuse(.search, EACCES)
        case .missing: refuse(.search, ENOENT)
        }
    }

    private static func pointers(_ strings: [String]) -> UnsafeMutablePointer<UnsafeMutablePointer<CChar>?> {
        let pointers = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>.allocate(capacity: strings.count + 1)
        for (index, text) in strings.enumerated() { pointers[index] = strdup(text) }
        pointers[strings.count] = nil
        return pointers
    }

    // MARK: Supervision

    /// Waits for the program's end and follows the worker's requests until then. Kills all processes when the worker
    /// has ended.
    ///
    /// Does not depend on signals: if `main` is asynchronous, other threads could get them.
    private func supervise(_ child: pid_t) -> Int32 {
        let end = GNUCalls.pidfdOpen?(child, 0) ?? -1
        var isListening = true
        while true {
            if let status = reap(until: child) { return status }
            var events = [
                pollfd(fd: isListening ? GuardDescriptor.control : -1, events: Int16(POLLIN), revents: 0),
                pollfd(fd: end, events: Int16(POLLIN), revents: 0),
            ]
            // An old kernel has no pidfd. Then poll for the end of the process.
            _ = poll(&events, 2, end >= 0 ? -1 : 20)
            guard events[0].revents != 0 else { continue }
            switch readOrder() {
            case .terminate: kill(-child, SIGTERM)
            case .kill: killEverything(group: child, sparing: child)
            case nil:
                isListening = false
                killEverything(group: child, sparing: child)
            }
        }
    }

    /// Returns the next request; nil = the worker has ended.
    private func readOrder() -> GuardOrder? {
        var byte: UInt8 = 0
        return read(GuardDescriptor.control, &byte, 1) == 1 ? GuardOrder(rawValue: byte) : nil
    }

    /// Reaps ended processes. Returns the program's status if the program is among them.
    private func reap(until child: pid_t) -> Int32? {
        var found: Int32?
        var status: Int32 = 0
        while true {
            let pid = waitpid(-1, &status, WNOHANG)
            if pid == child { found = status }
            if pid > 0 { continue }
            // Without a child this has nothing to wait for, and the program can only have been killed.
            if pid < 0, errno == ECHILD, found == nil { return SIGKILL }
            return found
        }
    }

    /// Kills the group, and then processes that have left it: they become children of this process when their parents
    /// are dead. Repeats until none is left. Also kills `sparing`, but leaves it to the caller to reap.
    private func killEverything(group: pid_t, sparing: pid_t? = nil) {
        kill(-group, SIGKILL)
        var rest = children().filter { $0 != sparing }
        while !rest.isEmpty {
            for pid in rest { kill(pid, SIGKILL) }
            for pid in rest { waitpid(pid, nil, 0) }
            rest = children().filter { $0 != sparing }
        }
    }

    /// Returns the processes whose parent is this one.
    private func children() -> [pid_t] {
        // Usually this process has no children, so skip the search through all processes. WNOWAIT: `supervise` reaps
        // the program.
        var nobody = siginfo_t()
        if waitid(P_ALL, 0, &nobody, WEXITED | WNOHANG | WNOWAIT) < 0, errno == ECHILD { return [] }
        let own = getpid()
        guard let folder = opendir("/proc") else { return [] }
        defer { closedir(folder) }
        var found: [pid_t] = []
        while let entry = readdir(folder) {
            if let pid = pid_t(Self.name(entry)), Self.parent(of: pid) == own { found.append(pid) }
        }
        return found
    }

    private static func parent(of pid: pid_t) -> pid_t? {
        let descriptor = open("/proc/\(pid)/stat", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 512)
        let count = read(descriptor, &bytes, bytes.count)
        guard count > 0, let end = bytes[..<count].lastIndex(of: UInt8(ascii: ")")) else { return nil }
        let fields = bytes[(end + 1)..<count].split(separator: UInt8(ascii: " "))
        return fields.count > 1 ? pid_t(String(decoding: fields[1], as: UTF8.self)) : nil
    }
}
