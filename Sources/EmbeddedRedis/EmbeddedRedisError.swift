/// An error of finding, starting or stopping the embedded server.
package struct EmbeddedRedisError: Error, Sendable, CustomStringConvertible {
    /// A closed set, safe as a metric label.
    package enum Code: String, Sendable {
        /// No redis-server was found on this machine.
        case serverMissing
        /// The state folder cannot be made, or other users can access it.
        case folder
        /// Another process has held the start lock for too long.
        case startLocked
        /// The server ended or did not answer at its start.
        case startFailed
        /// A server of this folder runs but cannot be reached.
        case notAnswering
        /// The server did not end.
        case stopFailed
    }

    package var code: Code
    /// One sentence: the problem and the fix.
    package var message: String
    package var cause: (any Error)?

    init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    package var description: String { message }
}
