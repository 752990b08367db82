import RedisClient

/// The purpose of a Redis user, and the minimal permissions for it.
///
/// Redis also checks the commands inside scripts. Permissions therefore follow from the sources of the scripts that a
/// role calls. The commands that connections send outside of scripts are listed here.
package enum RedisRole: String, Sendable, CaseIterable {
    /// Enqueues, waits for results, cancels and retries what it enqueued.
    case producer
    /// Runs operations.
    case worker
    /// Reads, and cannot write anything.
    case monitor
    /// Reads, cancels, retries, pauses, removes, and runs `doctor`.
    case `operator`

    /// The rules for `ACL SETUSER`, without user and password.
    package func rules(namespace: String) -> [String] {
        let keys = Keys(namespace: namespace)
        return [
            "resetkeys", "resetchannels", "-@all", "~\(keys.prefixPattern)", "~\(keys.queues)",
            "~\(keys.protocolNumber)", "~\(keys.changes)", "&\(keys.prefixPattern)",
        ]
            + commands.sorted().map { "+\($0)" }
    }

    /// The commands in the form of ACL rules: `hset`, `script|load`.
    private var commands: Set<String> {
        var inner = Set(scripts.flatMap(\.commands))
        // A monitor never gets a command that writes, even if one of its scripts contains it.
        if self == .monitor { inner.formIntersection(Self.reading) }
        return inner.union(Self.connecting).union(plain)
    }

    private var scripts: [RedisScript] {
        let library = ScriptLibrary()
        return ScriptName.allCases.filter { $0.entry.roles.contains(self) }.map { library[$0] }
    }

    /// The commands that every Sluice connection sends. Only connections to a cluster send the last three.
    private static let connecting: Set = [
        "ping", "select", "client|setname", "evalsha", "script|load", "role", "cluster|slots", "cluster|info", "asking",
    ]

    private var plain: Set<String> {
        switch self {
        // WAITAOF is missing because servers before 7.2 refuse rules that name it.
        case .producer: ["get", "set", "sadd", "smembers", "subscribe", "unsubscribe", "wait"]
        case .worker:
            [
                "get", "set", "sadd", "smembers", "subscribe", "unsubscribe", "blpop", "rpush", "ltrim", "client|id",
                "client|unblock",
                "info", "hget", "hmget",
            ]
        case .monitor: ["get", "smembers", "subscribe", "unsubscribe", "info"]
        case .operator:
            [
                "get", "set", "sadd", "smembers", "subscribe", "unsubscribe", "info", "scan", "config|get",
                "acl|whoami", "time",
            ]
        }
    }

    private static let reading: Set = [
        "time", "exists", "get", "mget", "getrange", "hget", "hmget", "hgetall", "hkeys", "hlen", "hexists", "hscan",
        "llen", "lindex", "lpos", "lrange", "scard", "srandmember", "zcard", "zrange", "zrangebylex", "zrangebyscore",
        "zrank", "zrevrange", "zrevrangebyscore", "zscore", "zscan", "zcount", "xrange", "xlen",
    ]
}

extension RedisScript {
    /// The commands that the script may send. A command that a variable selects is also spelled out in the script.
    var commands: Set<String> {
        let called = source.matches(of: /call\('([A-Z]+)'/).map { $0.1.lowercased() }
        let chosen = source.matches(of: /'(Z[A-Z]*RANGEBYSCORE)'/).map { $0.1.lowercased() }
        return Set(called + chosen)
    }
}
