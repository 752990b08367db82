import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The state of the signal handlers.
///
/// A handler may only use existing memory and call functions that are safe in a signal handler (`write`, `tcsetattr`,
/// `raise`). So everything is prepared before the handlers are installed.
private struct HandlerState {
    var pipe: Int32 = -1
    var input: Int32 = -1
    var output: Int32 = -1
    var mode = termios()
    var leaving: UnsafePointer<UInt8>
    var leavingCount: Int
}

/// The state is written once before handlers are installed, then only read, and never freed. So it needs no lock.
nonisolated(unsafe) private var handlerState: UnsafeMutablePointer<HandlerState>?

/// Sends the number of a signal through the pipe to the reading thread.
private func forward(_ signal: Int32) {
    let saved = errno
    if let state = handlerState {
        var byte = UInt8(truncatingIfNeeded: signal)
        _ = descriptorWrite(state.pointee.pipe, &byte, 1)
    }
    errno = saved
}

/// Restores the terminal before a crash, then raises the signal again. The handler is installed to run once.
private func dieWithTerminalRestored(_ signal: Int32) {
    if let state = handlerState {
        _ = descriptorWrite(state.pointee.output, state.pointee.leaving, state.pointee.leavingCount)
        _ = tcsetattr(state.pointee.input, TCSANOW, &state.pointee.mode)
    }
    raise(signal)
}

/// The signal handlers while the terminal is in full-screen use.
final class TerminalSignals: Sendable {
    /// The signals that end the monitor.
    static let ending: [Int32] = [SIGTERM, SIGHUP, SIGINT, SIGQUIT]
    private static let fatal: [Int32] = [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP]

    /// The read end of the pipe: signal numbers, one byte each; 0 wakes the reader.
    let readEnd: Int32
    private let writeEnd: Int32
    private let former = Mutex<[Int32: sigaction]>([:])

    init?(terminal: Int32, output: Int32, mode: termios) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return nil }
        for end in ends {
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
        }
        readEnd = ends[0]
        writeEnd = ends[1]
        let bytes = Array(Terminal.leaving.utf8)
        let copy = UnsafeMutablePointer<UInt8>.allocate(capacity: bytes.count)
        copy.initialize(from: bytes, count: bytes.count)
        let state = UnsafeMutablePointer<HandlerState>.allocate(capacity: 1)
        state.initialize(
            to: HandlerState(
                pipe: ends[1],
                input: terminal,
                output: output,
                mode: mode,
                leaving: UnsafePointer(copy),
                leavingCount: bytes.count
            )
        )
        handlerState = state
    }

    /// Installs the handlers. `restore` reinstalls the previous ones.
    func install() {
        former.withLock { former in
            guard former.isEmpty else { return }
            for signal in Self.ending + [SIGWINCH, SIGCONT, SIGTSTP] {
                former[signal] = Self.set(signal, forward, flags: SA_RESTART)
            }
            for signal in Self.fatal {
                former[signal] = Self.set(
                    signal,
                    dieWithTerminalRestored,
                    flags: Int32(bitPattern: UInt32(SA_RESETHAND))
                )
            }
        }
    }

    func restore() {
        former.withLock { former in
            for (signal, action) in former {
                var action = action
                sigaction(signal, &action, nil)
            }
            former.removeAll()
        }
    }

    /// Wakes the reader, which then checks whether to end.
    func wake() {
        var byte: UInt8 = 0
        _ = descriptorWrite(writeEnd, &byte, 1)
    }

    /// Stops this process and the others of its job, as the terminal does for Ctrl-Z.
    func stopJob() {
        _ = Self.set(SIGTSTP, SIG_DFL, flags: 0)
        kill(0, SIGTSTP)
    }

    /// Handles the signal of Ctrl-Z again after the process continues.
    func continueJob() { _ = Self.set(SIGTSTP, forward, flags: SA_RESTART) }

    private static func set(
        _ signal: Int32,
        _ handler: (@convention(c) (Int32) -> Void)?,
        flags: Int32
    ) -> sigaction {
        var new = sigaction()
        var old = sigaction()
        #if canImport(Darwin)
            new.__sigaction_u.__sa_handler = handler
        #else
            new.__sigaction_handler.sa_handler = handler
        #endif
        new.sa_flags = flags
        sigemptyset(&new.sa_mask)
        sigaction(signal, &new, &old)
        return old
    }
}
