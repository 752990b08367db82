import Synchronization

/// A Lua script: its name in logs and its source.
package struct RedisScript: Sendable, Hashable {
    package let name: String
    package let source: String

    package init(name: String, source: String) {
        self.name = name
        self.source = source
    }
}

/// The scripts that a link keeps loaded. The server's own SHA1 answers are remembered; nothing is hashed here.
package final class RedisScriptSet: Sendable {
    package let scripts: [RedisScript]
    private let indices: [String: Int]
    /// Per script the wire form of `EVALSHA <sha1>` once the server has told the digest.
    private let prefixes: Mutex<[RedisArguments?]>

    package init(_ scripts: [RedisScript]) {
        self.scripts = scripts
        indices = Dictionary(uniqueKeysWithValues: scripts.enumerated().map { ($1.name, $0) })
        prefixes = Mutex(Array(repeating: nil, count: scripts.count))
    }

    func index(of script: RedisScript) -> Int {
        guard let index = indices[script.name] else {
            preconditionFailure("the script \(script.name) is not in the set that this link loads")
        }
        return index
    }

    func loadCommand(_ index: Int) -> RedisCommand { RedisCommand("SCRIPT", "LOAD", scripts[index].source) }

    /// Takes the reply of SCRIPT LOAD.
    func learn(_ index: Int, from reply: RedisValue) throws(RedisError) {
        let digest = try reply.expectString("the digest of the script \(scripts[index].name)")
        var prefix = RedisArguments(capacity: 64)
        prefix.append("EVALSHA")
        prefix.append(digest)
        prefixes.withLock { $0[index] = prefix }
    }

    func prefix(_ index: Int) -> RedisArguments? { prefixes.withLock { $0[index] } }
}

/// One EVALSHA on its way.
struct ScriptCall: Sendable {
    let set: RedisScriptSet
    let index: Int
    /// Number of keys, keys, arguments.
    let tail: RedisArguments
    /// How often NOSCRIPT was answered already.
    var refusals = 0

    /// A server that forgets scripts faster than this is not worked with.
    static let maxRefusals = 3
}
