/// An error reply of Redis, with its text.
package struct RedisServerError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The class of an error reply. The raw value is safe as a metric label.
    package enum Code: String, Sendable, CaseIterable {
        case readOnly = "READONLY"
        case loading = "LOADING"
        case masterDown = "MASTERDOWN"
        case noAuth = "NOAUTH"
        case wrongPass = "WRONGPASS"
        case noPermission = "NOPERM"
        case outOfMemory = "OOM"
        case noScript = "NOSCRIPT"
        case busy = "BUSY"
        case busyGroup = "BUSYGROUP"
        case moved = "MOVED"
        case ask = "ASK"
        case tryAgain = "TRYAGAIN"
        case clusterDown = "CLUSTERDOWN"
        case crossSlot = "CROSSSLOT"
        case unblocked = "UNBLOCKED"
        case noReplicas = "NOREPLICAS"
        case misconfigured = "MISCONF"
        case wrongType = "WRONGTYPE"
        case executionAborted = "EXECABORT"
        case tooManyClients = "MAXCLIENTS"
        case other = "ERR"

        /// True for replies of a server that is not, or no longer, the right one. The connection is then closed, and a
        /// new one is made with name resolution and backoff. The refused command was not executed.
        package var demandsReconnect: Bool {
            switch self {
            case .readOnly, .loading, .masterDown, .unblocked, .noAuth, .tooManyClients: true
            default: false
            }
        }
    }

    package let code: Code
    /// The server's whole line, without the leading minus sign.
    package let message: String

    /// Classifies an error line by its first word or, for an error raised inside a script, by the inner word.
    package init(message: String) {
        self.message = message
        self.code = Self.classify(message)
    }

    package init(code: Code, message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { message }

    private static func classify(_ message: String) -> Code {
        let first = message.prefix { $0 != " " }
        if let code = Code(rawValue: String(first)), code != .other { return code }
        if message.hasPrefix("ERR max number of clients") { return .tooManyClients }
        if message.hasPrefix("ERR invalid password") { return .wrongPass }
        // Redis 7.0 reports a missing permission inside a script as a plain ERR.
        if message.contains("The user executing the script can't") { return .noPermission }
        return innerCode(of: message) ?? .other
    }

    /// The code of an error inside a script.
    ///
    /// Redis 6.2 wraps such an error: `ERR Error running script (…): @user_script:1: -OOM …`.
    private static func innerCode(of message: String) -> Code? {
        var rest = message[...]
        while let dash = rest.firstIndex(of: "-") {
            rest = rest[rest.index(after: dash)...]
            let word = rest.prefix { $0.isASCII && $0.isUppercase }
            if let code = Code(rawValue: String(word)), code != .other { return code }
        }
        return nil
    }
}
