/// Runs the operations of one name, with its types erased.
package struct OperationHandler: Sendable {
    /// Takes the arguments (JSON) and returns the result (JSON, or no bytes without a result).
    package typealias Body = @Sendable (_ arguments: [UInt8], _ context: OperationContext) async throws -> [UInt8]

    /// Decides what follows an error; nil = the policy decides.
    package typealias Decision = @Sendable (_ error: any Error, _ attempt: Int) -> RetryDecision?
    /// Called when an operation has ended, with its arguments.
    package typealias EndHook = @Sendable (LocalOperationEnding, _ arguments: [UInt8], OperationContext) async -> Void

    package var name: String
    /// Attempts and pauses, unless the producer sets its own.
    package var retryPolicy: RetryPolicy
    /// The longest time for one attempt, unless the producer sets its own; nil = no limit.
    package var runTimeout: Duration?
    /// Decides by the error. Not called for an error with `isRetryable` false.
    package var decide: Decision?
    package var onEnd: EndHook?
    package var body: Body

    package init(
        name: String,
        retryPolicy: RetryPolicy = RetryPolicy(),
        runTimeout: Duration? = nil,
        decide: Decision? = nil,
        onEnd: EndHook? = nil,
        body: @escaping Body
    ) {
        self.name = name
        self.retryPolicy = retryPolicy
        self.runTimeout = runTimeout
        self.decide = decide
        self.onEnd = onEnd
        self.body = body
    }
}
