import Operations
import RedisClient

extension OperationsError {
    /// What a transport error means to the caller of a broker.
    init(_ error: RedisError) {
        let code: Code =
            if error.outcomeIsUnknown { .outcomeUnknown } else {
                switch error.code {
                case .authentication, .permission: .denied
                case .tls: .untrusted
                case .server where error.serverError?.code == .outOfMemory: .full
                // A cluster that the URL does not call one: no other try helps.
                case .server where error.serverError?.code == .moved || error.serverError?.code == .ask: .invalidOption
                case .server where error.serverError?.isOfScript == true: .refused
                default: .unavailable
                }
            }
        self.init(code, error.description)
    }
}

extension RedisServerError {
    /// A script of ours looked at what it was given and wants none of it, however often it is sent.
    fileprivate var isOfScript: Bool { message.hasPrefix("ERR sluice: ") }
}

/// Runs a call and throws what it throws in the words of `Operations`.
@discardableResult
func translated<Result>(_ call: () async throws -> Result) async throws -> Result {
    do {
        return try await call()
    } catch let error as RedisError {
        throw OperationsError(error)
    }
}
