import Operations

/// Why a sync ended without having done its work.
struct SyncError: OperationFailing, RetryTiming, CustomStringConvertible {
    enum Code: String, Sendable {
        /// The server cannot be reached, or was lost in the middle.
        case network
        /// The server does not want to.
        case refused
        /// An answer, or an order of pages, that is against the rules.
        case invalid
        /// A later sync has begun.
        case replaced
        /// The file of the store cannot be read or written.
        case store
    }

    let code: Code
    let message: String
    var status: Int?
    var retryAfter: Duration?

    init(_ code: Code, _ message: String, status: Int? = nil, retryAfter: Duration? = nil) {
        (self.code, self.message, self.status, self.retryAfter) = (code, message, status, retryAfter)
    }

    var failureType: String { code.rawValue }
    /// Only what may be better in a moment is tried again.
    var isRetryable: Bool { code == .network || code == .store || status ?? 0 >= 500 }
    var description: String { "\(code.rawValue): \(message)" }
}
