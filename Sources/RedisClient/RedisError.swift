/// What went wrong between this process and Redis. One type for the whole module.
package struct RedisError: Error, Sendable, CustomStringConvertible {
    /// A closed set, safe as a metric label.
    package enum Code: String, Sendable, CaseIterable {
        /// No connection within the command's deadline; the command was never sent.
        case unreachable
        /// Sent, and no reply within the deadline; the connection was given up, the outcome is unknown.
        case timeout
        /// The connection ended before the reply; see ``RedisError/outcomeIsUnknown``.
        case closed
        /// The peer does not speak RESP; the connection was given up.
        case protocolViolation
        /// A reply beyond the configured bounds; the connection was given up.
        case replyTooLarge
        /// Too many commands or bytes are waiting; the command was not sent.
        case overloaded
        /// Redis refused user or password.
        case authentication
        /// Redis refused by its access control list.
        case permission
        /// Any other error reply; see ``RedisError/serverError``.
        case server
        /// A URL that names no server.
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
    /// True if the command may have been executed although nobody saw its reply.
    package var outcomeIsUnknown: Bool
    /// What Redis said, when this error is an error reply.
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

    /// Whoever speaks to a cluster as such follows these answers and never shows them.
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
