import Operations

/// The operations that the stock worker knows.
public enum BuiltinOperations {
    /// Those that are only registered where they are allowed, because they reach outside the worker.
    public static let restricted: Set<String> = ["exec", "download"]

    /// The handlers to register.
    ///
    /// - Parameter allowed: names out of `restricted`.
    package static func handlers(allowed: Set<String> = []) -> [OperationHandler] {
        [.noop, .sleep, .fail]
    }
}
