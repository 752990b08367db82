import Foundation

/// The signals with which a terminal, a shell or a supervisor ends a program.
package enum EndingSignals {
    package static let all = [SIGHUP, SIGINT, SIGQUIT, SIGTERM]
    /// They mean nothing to a program that does not ask for them, but would end it.
    static let unspecific = [SIGUSR1, SIGUSR2]

    /// Those that the parent has the program ignore: `nohup` SIGHUP, a script SIGINT and SIGQUIT of what it starts in the background.
    package static let ignoredAtStart = Set((all + unspecific).filter(isIgnored))

    /// Called before the program changes what a signal does.
    ///
    /// Process 1 of a container has no default actions: the kernel drops every signal that it does not handle, and `docker stop` would
    /// kill it after ten seconds. There a handler ends the program with the status that a shell gives to a program that a signal ended.
    static func prepare() {
        _ = ignoredAtStart
        guard getpid() == 1 else { return }
        for number in all where !ignoredAtStart.contains(number) { signal(number) { _exit(128 + $0) } }
    }

    /// For a verb that runs until it is stopped: SIGTERM ends it at once with status 0, because that is its regular end.
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
