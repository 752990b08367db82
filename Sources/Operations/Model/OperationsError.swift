/// An error of an operation or a queue, apart from the transport.
public struct OperationsError: Error, Sendable, Equatable, CustomStringConvertible {
    /// A kind of error. The list is closed, so a code is safe as a metric label.
    public enum Code: String, Sendable, CaseIterable {
        /// A queue, namespace or operation name breaks `NameRule`.
        case invalidName
        /// An option is out of its range or contradicts another one.
        case invalidOption
        /// Header and envelope, a result or an error exceed their limit.
        case tooLarge
        /// Bytes that should be an element, a record or JSON are not.
        case malformed
        /// No such operation is stored.
        case notFound
        /// The operation's state does not allow the call, or the broker does not accept such an operation.
        case refused
        /// The operation ended `dead`.
        case dead
        /// The operation ended `cancelled`.
        case cancelled
        /// The operation ended `expired`.
        case expired
        /// The caller no longer owns the operation.
        case leaseLost
        /// A wait or a time limit ended before the operation did.
        case timedOut
        /// No reply came, so it is unknown whether the call took effect.
        case outcomeUnknown
        /// The broker cannot be reached, or is not ready.
        case unavailable
        /// The broker refused the user, the password or a permission.
        case denied
        /// TLS with the broker failed. The broker's certificate is for another host, has expired, or has an unknown
        /// issuer, or the broker does not use TLS.
        case untrusted
        /// The namespace has another protocol than this program, so no call can read or write it.
        case incompatible
        /// The broker has no memory for more operations. Stored operations can still run, end and be cancelled.
        case full
        /// The broker cannot be reached, and the client's own buffer is full.
        case bufferFull
    }

    /// The kind of error.
    public let code: Code
    /// One sentence: what happened, where, and what to do.
    public let message: String
    /// The affected operation, if the error concerns one.
    public let id: OperationID?
    /// The stored failure of a dead operation: type, message and attempt of its last run; nil for other errors.
    public let failure: OperationFailure?

    /// Makes an error.
    ///
    /// - Parameters:
    ///   - code: the kind of error.
    ///   - message: one sentence: what happened, where, and what to do.
    ///   - id: the affected operation.
    ///   - failure: the stored failure of a dead operation.
    public init(_ code: Code, _ message: String, id: OperationID? = nil, failure: OperationFailure? = nil) {
        self.code = code
        self.message = message
        self.id = id
        self.failure = failure
    }

    public var description: String { message }

    /// Quotes untrusted text for a message: at most 64 characters, control characters escaped, passwords in URLs
    /// hidden.
    package static func quoted(_ text: String) -> String {
        let text = URLPasswords.masked(text)
        let shown = text.count > 64 ? text.prefix(63) + "…" : text[...]
        return "\"" + shown.unicodeScalars.map { $0.escaped(asASCII: false) }.joined() + "\""
    }
}
