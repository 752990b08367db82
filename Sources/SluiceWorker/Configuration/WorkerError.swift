/// Why a worker cannot be started.
public struct WorkerError: Error, Sendable, Equatable, CustomStringConvertible {
    /// A closed list, safe as a metric label.
    public enum Code: String, Sendable, CaseIterable {
        /// A setting is out of its range or contradicts another one.
        case invalidConfiguration
        /// `run()` was called a second time.
        case alreadyRun
    }

    public let code: Code
    /// One sentence: which setting, its value, what is allowed.
    public let message: String

    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    public var description: String { message }
}
