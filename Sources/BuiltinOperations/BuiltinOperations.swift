import Operations

/// The operations that the stock worker knows.
public enum BuiltinOperations {
    /// Those that are only registered where they are allowed, because they reach outside the worker.
    public static let restricted: Set<String> = ["exec", "http", "download"]

    /// The names that are theirs, whether they are allowed or not.
    package static var names: Set<String> { Set(handlers().map(\.name)).union(restricted) }

    /// A program of the user's as an operation: `--handler NAME=PROGRAM`.
    ///
    /// - Parameters:
    ///   - name: the operation's name.
    ///   - path: the program, absolute.
    ///   - guardPath: an executable whose `main` calls `ExecGuard.runIfAsked`; this one unless said otherwise.
    ///   - cancelGrace: the time between SIGTERM and SIGKILL.
    ///   - environment: which variables of this process it gets.
    package static func program(
        _ name: String,
        path: String,
        guardPath: String = "/proc/self/exe",
        cancelGrace: Duration = Defaults.cancelGrace,
        environment: ProgramEnvironment = ProgramEnvironment()
    ) -> OperationHandler {
        .program(name, path: path, guardPath: guardPath, grace: cancelGrace, environment: environment)
    }

    /// The handlers to register.
    ///
    /// - Parameters:
    ///   - allowed: names out of `restricted`.
    ///   - guardPath: for `exec`: an executable whose `main` calls `ExecGuard.runIfAsked`; this one unless said otherwise.
    ///   - cancelGrace: for `exec`: the time between SIGTERM and SIGKILL.
    ///   - environment: for `exec`: which variables of this process the programs get.
    package static func handlers(
        allowed: Set<String> = [],
        guardPath: String = "/proc/self/exe",
        cancelGrace: Duration = Defaults.cancelGrace,
        environment: ProgramEnvironment = ProgramEnvironment()
    ) -> [OperationHandler] {
        var handlers: [OperationHandler] = [.noop, .sleep, .fail]
        if allowed.contains("exec") {
            handlers.append(.exec(guardPath: guardPath, grace: cancelGrace, environment: environment))
        }
        if allowed.contains("http") { handlers.append(.http) }
        if allowed.contains("download") { handlers.append(.download) }
        return handlers
    }
}
