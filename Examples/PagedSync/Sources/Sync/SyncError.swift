import Operations

/// The reason why a sync failed.
struct SyncError: OperationFailing, RetryTiming, CustomStringConvertible {
    enum Code: String, Sendable {
        /// The server cannot be reached, or the connection was lost.
        case network
        /// The server refused the request.
        case refused
        /// An answer or a sequence of pages breaks the rules.
        case invalid
        /// A later sync began.
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
    /// Only errors that may soon be gone are retried.
    var isRetryable: Bool { code == .network || code == .store || status ?? 0 >= 500 }
    var description: String { "\(code.rawValue): \(message)" }
}
