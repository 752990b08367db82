/// What runs the operations of one name, with its types erased.
package struct OperationHandler: Sendable {
    /// Takes the arguments (JSON) and gives the result (JSON, or empty for none).
    package typealias Body = @Sendable (_ arguments: [UInt8], _ context: OperationContext) async throws -> [UInt8]

    /// What follows an error; nil = as the policy says.
    package typealias Decision = @Sendable (_ error: any Error, _ attempt: Int) -> RetryDecision?
    /// Called when an operation has ended, with its arguments.
    package typealias EndHook = @Sendable (LocalOperationEnding, _ arguments: [UInt8], OperationContext) async -> Void

    package var name: String
    /// Attempts and pauses, unless the producer says otherwise.
    package var retryPolicy: RetryPolicy
    /// Longest time for one attempt, unless the producer says otherwise; nil = no limit.
    package var runTimeout: Duration?
    /// Decides by the error. An error that says itself that another attempt is pointless is not asked about.
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
