import Foundation

/// The signals with which a terminal, a shell or a supervisor ends a program.
package enum EndingSignals {
    package static let all = [SIGHUP, SIGINT, SIGQUIT, SIGTERM]
    /// Signals without a meaning for this program, whose default action would end it.
    static let unspecific = [SIGUSR1, SIGUSR2]

    /// The signals that the parent has set to be ignored: `nohup` ignores SIGHUP, and a script ignores SIGINT and
    /// SIGQUIT for its background commands.
    package static let ignoredAtStart = Set((all + unspecific).filter(isIgnored))

    /// Installs handlers in process 1 of a container. Called before the program changes the action of any signal.
    ///
    /// Process 1 has no default actions: the kernel drops each signal without a handler, and `docker stop` would kill
    /// the process after ten seconds. The handlers end the program with the status that a shell reports for that
    /// signal.
    static func prepare() {
        _ = ignoredAtStart
        guard getpid() == 1 else { return }
        for number in all where !ignoredAtStart.contains(number) { signal(number) { _exit(128 + $0) } }
    }

    /// Makes SIGTERM end the process with status 0, for verbs that run until they are stopped.
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
