import Crypto
import Synchronization

/// A Lua script. The first call makes source and digest, so a program pays only for the scripts that it calls.
package final class RedisScript: Sendable {
    private struct Made {
        let source: String
        /// The wire form of `EVALSHA <digest>`.
        let prefix: RedisArguments
    }

    /// Shown in logs.
    package let name: String
    private let make: @Sendable () -> String
    private let made = Mutex<Made?>(nil)

    /// - Parameter make: returns the source; called at most once.
    package init(name: String, make: @escaping @Sendable () -> String) {
        self.name = name
        self.make = make
    }

    package convenience init(name: String, source: String) { self.init(name: name) { source } }

    package var source: String { ready.source }

    /// Whether the source was made.
    package var isMade: Bool { made.withLock { $0 != nil } }

    var loadCommand: RedisCommand { RedisCommand("SCRIPT", "LOAD", source) }

    var prefix: RedisArguments { ready.prefix }

    private var ready: Made {
        made.withLock { made in
            if let made { return made }
            let new = Self.complete(make())
            made = new
            return new
        }
    }

    private static func complete(_ source: String) -> Made {
        var prefix = RedisArguments(capacity: 64)
        prefix.append("EVALSHA")
        let digest = Insecure.SHA1.hash(data: Array(source.utf8))
        prefix.append(length: 2 * Insecure.SHA1.Digest.byteCount) { bytes in
            let digits = Array("0123456789abcdef".utf8)
            for byte in digest { bytes += [digits[Int(byte >> 4)], digits[Int(byte & 15)]] }
        }
        return Made(source: source, prefix: prefix)
    }
}

/// One call of EVALSHA.
struct ScriptCall: Sendable {
    let script: RedisScript
    /// Number of keys, keys, arguments.
    let tail: RedisArguments
    /// How often the answer was NOSCRIPT.
    var refusals = 0

    /// The number of NOSCRIPT answers after which the call fails.
    static let maxRefusals = 3
}
