import Logging
import Operations

/// Logs once that the user of the worker lacks a permission without which something is slower, and once that this is over.
struct RefusalNotes {
    private let logger: Logger
    private let consequence: Logger.Message
    private var isRefused = false

    init(_ logger: Logger, _ consequence: Logger.Message) {
        self.logger = logger
        self.consequence = consequence
    }

    /// Does nothing for other errors, and for the second one in a row.
    mutating func note(_ error: any Error) {
        guard !isRefused, (error as? OperationsError)?.code == .denied else { return }
        isRefused = true
        logger.warning(consequence, metadata: ["error": "\(error)"])
    }

    mutating func isOver() {
        guard isRefused else { return }
        isRefused = false
        logger.notice("no longer: \(consequence)")
    }
}
