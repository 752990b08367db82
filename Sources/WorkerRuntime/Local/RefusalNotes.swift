import Logging
import Operations

/// Logs once that the worker's Redis user lacks a permission, with the consequence, and once that this is over.
struct RefusalNotes {
    private let logger: Logger
    private let consequence: Logger.Message
    private let recovery: Logger.Message
    private var isRefused = false

    init(_ logger: Logger, _ consequence: Logger.Message, over recovery: Logger.Message) {
        self.logger = logger
        self.consequence = consequence
        self.recovery = recovery
    }

    /// Logs a warning at the first `.denied` error. Ignores other errors, and further ones until `isOver()`.
    mutating func note(_ error: any Error) {
        guard !isRefused, (error as? OperationsError)?.code == .denied else { return }
        isRefused = true
        logger.warning(consequence, metadata: ["error": "\(error)"])
    }

    mutating func isOver() {
        guard isRefused else { return }
        isRefused = false
        logger.notice(recovery)
    }
}
