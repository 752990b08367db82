import Operations
import RedisClient

extension OperationsError {
    /// Translates a transport error into the error that a broker throws.
    init(_ error: RedisError) {
        let code: Code =
            if error.outcomeIsUnknown { .outcomeUnknown } else {
                switch error.code {
                case .authentication, .permission: .denied
                case .tls: .untrusted
                case .server where error.serverError?.code == .outOfMemory: .full
                // The server is a cluster, but the URL does not say so. A retry does not help.
                case .server where error.serverError?.code == .moved || error.serverError?.code == .ask: .invalidOption
                case .server where error.serverError?.isOfScript == true: .refused
                default: .unavailable
                }
            }
        self.init(code, error.description)
    }
}

extension RedisServerError {
    /// Whether a Sluice script refused its arguments. Each repeat would be refused as well.
    fileprivate var isOfScript: Bool { message.hasPrefix("ERR sluice: ") }
}

/// Runs a call and throws its `RedisError` as an `OperationsError`.
@discardableResult
func translated<Result>(_ call: () async throws -> Result) async throws -> Result {
    do {
        return try await call()
    } catch let error as RedisError {
        throw OperationsError(error)
    }
}
