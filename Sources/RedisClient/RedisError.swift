/// An error between this process and Redis. The only error type of this module.
package struct RedisError: Error, Sendable, CustomStringConvertible {
    /// The kind of an error: a closed set, safe as a metric label.
    package enum Code: String, Sendable, CaseIterable {
        /// No connection within the command's deadline; the command was never sent.
        case unreachable
        /// The command was sent, but no reply came within the deadline. The connection was closed; the outcome is
        /// unknown.
        case timeout
        /// The connection ended before the reply; see ``RedisError/outcomeIsUnknown``.
        case closed
        /// The peer does not speak RESP. The connection was closed.
        case protocolViolation
        /// A reply is larger than the configured bounds. The connection was closed.
        case replyTooLarge
        /// Too many commands or bytes are waiting; the command was not sent.
        case overloaded
        /// Redis refused the user or the password.
        case authentication
        /// Redis refused the command by its access control list.
        case permission
        /// Any other error reply; see ``RedisError/serverError``.
        case server
        /// The URL names no server.
        case badURL
        /// TLS could not be set up: certificate, host name, CA file, or a peer without TLS.
        case tls
        /// The reply was not of the expected type.
        case unexpectedReply
    }

    package var code: Code
    /// One sentence for a person, without secrets.
    package var message: String
    /// The error underneath, if there was one.
    package var cause: (any Error)?
    /// The server's masked URL.
    package var endpoint: String?
    /// Whether the command may have been executed although its reply was not received.
    package var outcomeIsUnknown: Bool
    /// The reply of Redis, if this error is an error reply.
    package var serverError: RedisServerError?

    package init(
        _ code: Code,
        _ message: String,
        cause: (any Error)? = nil,
        endpoint: String? = nil,
        outcomeIsUnknown: Bool = false
    ) {
        self.code = code
        self.message = message
        self.cause = cause
        self.endpoint = endpoint
        self.outcomeIsUnknown = outcomeIsUnknown
    }

    /// An error reply as a thrown error.
    package init(server error: RedisServerError, endpoint: String? = nil) {
        let code: Code =
            switch error.code {
            case .noAuth, .wrongPass: .authentication
            case .noPermission: .permission
            default: .server
            }
        self.init(code, Self.explained(error), endpoint: endpoint)
        self.serverError = error
    }

    /// A client of a cluster follows these replies. Only a client of a single server shows them.
    private static func explained(_ error: RedisServerError) -> String {
        switch error.code {
        case .moved, .ask:
            "the server is a node of a Redis Cluster (it says \(error.message)): use redis+cluster://HOST:PORT as its URL"
        default: error.message
        }
    }

    package var description: String {
        var text = message
        if let endpoint { text += " [\(endpoint)]" }
        return text
    }
}
