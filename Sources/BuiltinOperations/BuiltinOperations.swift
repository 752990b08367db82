import Operations

/// The operations that the stock worker knows.
public enum BuiltinOperations {
    /// Those that are only registered where they are allowed, because they reach outside the worker.
    public static let restricted: Set<String> = ["exec", "download"]

    /// The handlers to register.
    ///
    /// - Parameters:
    ///   - allowed: names out of `restricted`.
    ///   - guardPath: for `exec`: an executable whose `main` calls `ExecGuard.runIfAsked`; this one unless said otherwise.
    ///   - cancelGrace: for `exec`: the time between SIGTERM and SIGKILL.
    package static func handlers(
        allowed: Set<String> = [],
        guardPath: String = "/proc/self/exe",
        cancelGrace: Duration = Defaults.cancelGrace
    ) -> [OperationHandler] {
        var handlers: [OperationHandler] = [.noop, .sleep, .fail]
        if allowed.contains("exec") { handlers.append(.exec(guardPath: guardPath, grace: cancelGrace)) }
        if allowed.contains("download") { handlers.append(.download) }
        return handlers
    }
}
