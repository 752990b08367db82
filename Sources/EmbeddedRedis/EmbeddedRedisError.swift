/// Why the private server could not be found, started or stopped.
package struct EmbeddedRedisError: Error, Sendable, CustomStringConvertible {
    /// A closed set, safe as a metric label.
    package enum Code: String, Sendable {
        /// No redis-server on this machine.
        case serverMissing
        /// The state folder cannot be made or is not ours alone.
        case folder
        /// Another process has held the start lock for too long.
        case startLocked
        /// The server ended or did not answer while starting.
        case startFailed
        /// A server of this folder is alive, but nothing can be said to it.
        case notAnswering
        /// It did not end when asked to.
        case stopFailed
    }

    package var code: Code
    /// What is wrong and what to do, for a person.
    package var message: String
    package var cause: (any Error)?

    init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    package var description: String { message }
}
