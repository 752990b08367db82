import Operations

extension OperationHandler {
    /// Fails with `message`. `retryable` (true by default) decides whether other attempts follow.
    static let fail = OperationHandler(name: "fail") { json, _ in
        let arguments = try Arguments(json, of: "fail")
        try arguments.allowDocumented()
        throw RequestedFailure(
            description: try arguments.optionalString("message") ?? "failed as asked",
            isRetryable: try arguments.optionalFlag("retryable") ?? true
        )
    }
}

/// The error of `fail`.
private struct RequestedFailure: OperationFailing, CustomStringConvertible {
    let description: String
    let isRetryable: Bool
    var failureType: String { "fail" }
}
