import Operations

/// The built-in operations of `sluice worker`.
package enum BuiltinOperations {
    /// Operations that are registered only if the operator allows them, because they reach outside the worker.
    package static let restricted: Set<String> = ["exec", "http", "download"]

    /// The names of all built-in operations, allowed or not.
    package static var names: Set<String> { Set(handlers().map(\.name)).union(restricted) }

    /// Makes a handler that runs a program: `--handler NAME=PROGRAM`.
    ///
    /// - Parameters:
    ///   - name: the operation's name.
    ///   - path: the absolute path of the program.
    ///   - guardPath: an executable whose `main` calls `ExecGuard.runIfAsked`; this program by default.
    ///   - cancelGrace: the time between SIGTERM and SIGKILL.
    ///   - environment: the variables of this process that the program gets.
    package static func program(
        _ name: String,
        path: String,
        guardPath: String = "/proc/self/exe",
        cancelGrace: Duration = SluiceDefaults.cancelGrace,
        environment: ProgramEnvironment = ProgramEnvironment()
    ) -> OperationHandler {
        .program(name, path: path, guardPath: guardPath, grace: cancelGrace, environment: environment)
    }

    /// Reads arguments as the operation of this name does when it runs.
    ///
    /// - Throws: the error with which the operation would be dead. A name that is not built in never throws.
    package static func check(_ json: [UInt8], of name: String) throws {
        switch name {
        case "sleep": _ = try SleepArguments(json)
        case "fail": _ = try FailArguments(json)
        case "exec": _ = try ExecArguments(json)
        case "http": _ = try HTTPArguments(json)
        case "download": _ = try DownloadArguments(json)
        default: break
        }
    }

    /// Returns the handlers to register.
    ///
    /// - Parameters:
    ///   - allowed: the allowed names of `restricted`.
    ///   - guardPath: for `exec`: an executable whose `main` calls `ExecGuard.runIfAsked`; this program by default.
    ///   - cancelGrace: for `exec`: the time between SIGTERM and SIGKILL.
    ///   - environment: for `exec`: the variables of this process that programs get.
    package static func handlers(
        allowed: Set<String> = [],
        guardPath: String = "/proc/self/exe",
        cancelGrace: Duration = SluiceDefaults.cancelGrace,
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
