import Operations

extension OperationHandler {
    /// Does nothing, whatever its arguments are.
    static let noop = OperationHandler(name: "noop") { _, _ in [] }
}
