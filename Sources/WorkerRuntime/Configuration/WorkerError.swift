/// Why a worker cannot be started.
public struct WorkerError: Error, Sendable, Equatable, CustomStringConvertible {
    /// A closed list, safe as a metric label.
    public enum Code: String, Sendable, CaseIterable {
        /// A setting is out of its range or contradicts another one.
        case invalidConfiguration
        /// Redis may throw operations away. See `WorkerConfiguration.allowsEviction`.
        case unsafeServer
        /// Redis is too old, or one node of a cluster that was named alone.
        case unsupportedServer
        /// The namespace has another protocol than this program speaks.
        case incompatible
        /// `run()` was called a second time.
        case alreadyRun
    }

    /// What kind of reason.
    public let code: Code
    /// One sentence: which setting, its value, what is allowed.
    public let message: String
    /// A command or an address that helps; nil = the message says it.
    public let fix: String?

    package init(_ code: Code, _ message: String, fix: String? = nil) {
        self.code = code
        self.message = message
        self.fix = fix
    }

    /// The message, and the fix where there is one.
    public var description: String { message + (fix.map { "; try: \($0)" } ?? "") }
}
