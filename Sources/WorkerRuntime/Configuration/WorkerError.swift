/// The reason why a worker cannot be started.
public struct WorkerError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kind of a reason. A closed list, safe as a metric label.
    public enum Code: String, Sendable, CaseIterable {
        /// A setting is out of its range or contradicts another one.
        case invalidConfiguration
        /// Redis may throw operations away. See `WorkerConfiguration.allowsEviction`.
        case unsafeServer
        /// Redis is too old, or one node of a cluster that was named alone.
        case unsupportedServer
        /// The namespace has another protocol than this program.
        case incompatible
        /// `run()` was called a second time.
        case alreadyRun
    }

    /// The kind of the reason.
    public let code: Code
    /// One sentence: the setting, its value, and the allowed values.
    public let message: String
    /// A command or an address that fixes the problem; nil = the message contains the fix.
    public let fix: String?

    package init(_ code: Code, _ message: String, fix: String? = nil) {
        self.code = code
        self.message = message
        self.fix = fix
    }

    /// The message, followed by the fix, if any.
    public var description: String { message + (fix.map { "; try: \($0)" } ?? "") }
}
