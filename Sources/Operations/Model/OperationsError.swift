/// What can go wrong with an operation or a queue, apart from the transport.
public struct OperationsError: Error, Sendable, Equatable, CustomStringConvertible {
    /// A closed list, safe as a metric label.
    public enum Code: String, Sendable, CaseIterable {
        /// A queue, namespace or operation name breaks `NameRule`.
        case invalidName
        /// An option is out of its range or contradicts another one.
        case invalidOption
        /// Header and envelope, a result or an error exceed their limit.
        case tooLarge
        /// Bytes that should be an element, a record or JSON are not.
        case malformed
        /// There is no such operation.
        case notFound
        /// The operation's state forbids what was asked, or the broker takes no such operation.
        case refused
        /// The operation ended `dead`.
        case dead
        /// The operation ended `cancelled`.
        case cancelled
        /// The operation ended `expired`.
        case expired
        /// The caller no longer owns the operation it writes for.
        case leaseLost
        /// A wait ended before the operation did.
        case timedOut
        /// No answer came, so whether the call took effect is unknown.
        case outcomeUnknown
        /// The broker cannot be reached, or is not ready to work.
        case unavailable
        /// The broker refused user, password or permission.
        case denied
        /// TLS with the broker failed: its certificate is for another host, has expired or is signed by an unknown authority, or there
        /// is no TLS on its side.
        case untrusted
        /// The namespace has another protocol than this program speaks, so nothing in it can be read or written.
        case incompatible
        /// The broker has no memory left for more operations. What is there can still be run, ended and cancelled.
        case full
        /// The broker is away, and the client's own buffer holds no more operations.
        case bufferFull
    }

    /// What kind it is.
    public let code: Code
    /// One sentence: what, where, what to do.
    public let message: String
    /// The operation concerned, if there is one.
    public let id: OperationID?

    /// An error with its code, one sentence, and the operation concerned.
    public init(_ code: Code, _ message: String, id: OperationID? = nil) {
        self.code = code
        self.message = message
        self.id = id
    }

    public var description: String { message }

    /// Untrusted text for a message: at most 64 characters, control characters as escapes, passwords of addresses hidden.
    package static func quoted(_ text: String) -> String {
        let text = URLPasswords.masked(text)
        let shown = text.count > 64 ? text.prefix(63) + "…" : text[...]
        return "\"" + shown.unicodeScalars.map { $0.escaped(asASCII: false) }.joined() + "\""
    }
}
