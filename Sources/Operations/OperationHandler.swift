/// What runs the operations of one name, with its types erased.
package struct OperationHandler: Sendable {
    /// Takes the arguments (JSON) and gives the result (JSON, or empty for none).
    package typealias Body = @Sendable (_ arguments: [UInt8], _ context: OperationContext) async throws -> [UInt8]

    package var name: String
    /// Attempts and pauses, unless the producer says otherwise.
    package var retryPolicy: RetryPolicy
    /// Longest time for one attempt, unless the producer says otherwise; nil = no limit.
    package var runTimeout: Duration?
    package var body: Body

    package init(
        name: String,
        retryPolicy: RetryPolicy = RetryPolicy(),
        runTimeout: Duration? = nil,
        body: @escaping Body
    ) {
        self.name = name
        self.retryPolicy = retryPolicy
        self.runTimeout = runTimeout
        self.body = body
    }
}
