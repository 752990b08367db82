import Operations

extension OperationHandler {
    /// Fails with `message`. `retryable` (true by default) decides whether other attempts follow.
    static let fail = OperationHandler(name: "fail") { json, _ in throw try FailArguments(json).failure }
}

/// The arguments of `fail`.
struct FailArguments {
    fileprivate let failure: RequestedFailure

    init(_ json: [UInt8]) throws {
        let arguments = try Arguments(json, of: "fail")
        try arguments.allowDocumented()
        failure = RequestedFailure(
            description: try arguments.optionalString("message") ?? "failed as requested",
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
