import Operations

extension OperationHandler {
    /// Does nothing, with any arguments.
    static let noop = OperationHandler(name: "noop") { _, _ in [] }
}
