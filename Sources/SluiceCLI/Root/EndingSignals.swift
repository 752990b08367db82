import Foundation

/// The signals with which a terminal, a shell or a supervisor ends a program.
package enum EndingSignals {
    package static let all = [SIGHUP, SIGINT, SIGQUIT, SIGTERM]
    /// They mean nothing to a program that does not ask for them, but would end it.
    static let unspecific = [SIGUSR1, SIGUSR2]

    /// Those that the parent has the program ignore: `nohup` SIGHUP, a script SIGINT and SIGQUIT of what it starts in the background.
    package static let ignoredAtStart = Set((all + unspecific).filter(isIgnored))

    /// Installs handlers in process 1 of a container. Called before the program changes any signal's action.
    ///
    /// Process 1 has no default actions: the kernel drops each signal that it does not handle, and `docker stop` would kill it after ten
    /// seconds. The handlers end the program with the status that a shell reports for that signal.
    static func prepare() {
        _ = ignoredAtStart
        guard getpid() == 1 else { return }
        for number in all where !ignoredAtStart.contains(number) { signal(number) { _exit(128 + $0) } }
    }

    /// Makes SIGTERM end the process with status 0. For verbs that run until they are stopped.
    static func terminateWithSuccess() {
        guard !ignoredAtStart.contains(SIGTERM) else { return }
        signal(SIGTERM) { _ in _exit(ExitStatus.done.rawValue) }
    }

    private static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        guard sigaction(number, nil, &action) == 0 else { return false }
        #if canImport(Darwin)
            let handler = action.__sigaction_u.__sa_handler
        #else
            let handler = action.__sigaction_handler.sa_handler
        #endif
        return unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
    }
}
