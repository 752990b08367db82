import Foundation
import Operations
import TerminalText

/// Finds problems in the server's INFO and settings that endanger operations.
package struct ServerExamination {
    private static let oldest = ServerVersion(6, 2, 0)
    /// The largest accepted difference between two clocks, in milliseconds. Beyond it, this machine shows wrong ages.
    private static let skew: Int64 = 2000

    package let server: ServerAudit

    package init(_ server: ServerAudit) { self.server = server }

    package var diagnoses: [Diagnosis] {
        guard !server.info.isEmpty else { return [Self.blind("Redis refuses INFO")] }
        return (refusals + version + parser + eviction + persistence + connections + clock).map(located)
    }

    /// Adds the server's name to a diagnosis if several servers exist.
    private func located(_ diagnosis: Diagnosis) -> Diagnosis {
        guard let name = server.name else { return diagnosis }
        var diagnosis = diagnosis
        diagnosis.subject = "\(name)/\(diagnosis.subject)"
        diagnosis.fix = diagnosis.fix?.replacingOccurrences(of: "redis-cli ", with: "redis-cli \(Self.options(name)) ")
        return diagnosis
    }

    private static func options(_ name: String) -> String {
        let colon = name.lastIndex(of: ":") ?? name.endIndex
        return "-h \(name[..<colon].filter { !"[]".contains($0) }) -p \(name[colon...].dropFirst())"
    }

    /// Reports that the user has no permission to examine something.
    package static func blind(_ message: String) -> Diagnosis {
        Diagnosis(
            .warning,
            "notAllowed",
            "permissions",
            "this user has no permission to examine everything: \(message)",
            fix: "connect as an operator: --redis redis://USER@HOST"
        )
    }

    /// Reports that the user has no permission for the channels.
    package static func deaf(_ message: String) -> Diagnosis {
        Diagnosis(
            .error,
            "noChannels",
            "permissions",
            "Redis refuses this user the channels of the namespace, so cancels and events arrive late: \(message)",
            fix: "redis-cli ACL SETUSER NAME '&{NAMESPACE/*'"
        )
    }

    /// Reports that Redis refuses writes, so nothing can be enqueued or run.
    private var refusals: [Diagnosis] {
        server.writeRefusals.map { refusal in
            var unnamed = refusal
            unnamed.server = nil
            return Diagnosis(.error, refusal.cause.rawValue, "writes", unnamed.sentence, fix: refusal.fix)
        }
    }

    private func number(_ field: String) -> Int64? { server.info[field].flatMap { Int64($0) } }
    private func setting(_ name: String) -> String? { server.configuration[name] }

    // MARK: Versions

    private var version: [Diagnosis] {
        let text = server.info["redis_version"] ?? ""
        guard server.info["valkey_version"] == nil, let version = ServerVersion(text) else { return [] }
        guard version >= Self.oldest else {
            return [
                Diagnosis(.error, "version", "redis_version", "Redis \(text) is too old: use 6.2 or newer")
            ]
        }
        return KnownFault.all.filter { $0.concerns(version) }.map { fault in
            Diagnosis(
                .note,
                "version",
                "redis_version",
                "Redis \(text): \(fault.text). Distributions fix vulnerabilities without a new version number: check yours"
            )
        }
    }

    /// Debian's package of hiredis 0.14 has the fix of CVE-2021-32765. Other versions below 1.0.1 may lack it.
    private var parser: [Diagnosis] {
        guard let version = ServerVersion(server.hiredisVersion), version < ServerVersion(1, 0, 1) else { return [] }
        return [
            Diagnosis(
                .note,
                "hiredis",
                "hiredis",
                "built with hiredis \(server.hiredisVersion): below 1.0.1 only packages of distributions have the fix of "
                    + "CVE-2021-32765; sluice limits replies in any case"
            )
        ]
    }

    // MARK: Memory and disk

    private var eviction: [Diagnosis] {
        var found: [Diagnosis] = []
        let policy = setting("maxmemory-policy") ?? server.info["maxmemory_policy"] ?? "noeviction"
        if policy != "noeviction" {
            found.append(
                Diagnosis(
                    .error,
                    "eviction",
                    "maxmemory-policy",
                    "\(policy): Redis deletes operations when its memory is full",
                    fix: "redis-cli CONFIG SET maxmemory-policy noeviction"
                )
            )
        }
        if let evicted = number("evicted_keys"), evicted > 0 {
            found.append(
                Diagnosis(
                    .error,
                    "evicted",
                    "evicted_keys",
                    "Redis has deleted \(evicted) keys: operations may be among them"
                )
            )
        }
        if let limit = number("maxmemory"), limit > 0, let used = number("used_memory"), used > limit / 10 * 9,
            !server.writeRefusals.contains(where: { $0.cause == .full })
        {
            found.append(
                Diagnosis(
                    .warning,
                    "memory",
                    "maxmemory",
                    "\(QuantityText.bytes(used)) of \(QuantityText.bytes(limit)) are used; when the memory is full, enqueues are refused"
                )
            )
        }
        return found
    }

    private var persistence: [Diagnosis] {
        var found: [Diagnosis] = []
        let appends = number("aof_enabled") == 1
        if !appends, setting("save") == "" {
            found.append(
                Diagnosis(
                    .warning,
                    "persistence",
                    "appendonly",
                    "nothing is written to disk: a restart of Redis loses all operations",
                    fix: "redis-cli CONFIG SET appendonly yes"
                )
            )
        } else if !appends {
            found.append(
                Diagnosis(
                    .note,
                    "persistence",
                    "appendonly",
                    "snapshots only: a crash of Redis loses all changes after the last one",
                    fix: "redis-cli CONFIG SET appendonly yes"
                )
            )
        }
        if appends, setting("appendfsync") == "no" {
            found.append(
                Diagnosis(
                    .note,
                    "persistence",
                    "appendfsync",
                    "no: a crash of the machine loses up to 30 s of changes",
                    fix: "redis-cli CONFIG SET appendfsync everysec"
                )
            )
        }
        for (field, what) in [
            ("aof_last_write_status", "appending to the file"), ("rdb_last_bgsave_status", "writing a snapshot"),
            ("aof_last_bgrewrite_status", "rewriting the file"),
        ] where (server.info[field] ?? "ok") != "ok" {
            found.append(Diagnosis(.error, "persistence", field, "\(what) failed last time: see the log of Redis"))
        }
        return found
    }

    // MARK: Connections and clock

    private var connections: [Diagnosis] {
        var found: [Diagnosis] = []
        let most = number("maxclients") ?? setting("maxclients").flatMap { Int64($0) } ?? 0
        if let clients = number("connected_clients"), most > 0, clients > most / 10 * 9 {
            found.append(Diagnosis(.warning, "connections", "maxclients", "\(clients) of \(most) connections are used"))
        }
        if let rejected = number("rejected_connections"), rejected > 0 {
            found.append(
                Diagnosis(
                    .note,
                    "connections",
                    "rejected_connections",
                    "Redis has refused \(rejected) connections since its start"
                )
            )
        }
        return found
    }

    private var clock: [Diagnosis] {
        let ahead = server.clockAhead
        guard abs(ahead) > Self.skew + server.roundTripMilliseconds else { return [] }
        return [
            Diagnosis(
                .warning,
                "clock",
                "clock",
                "the clocks of this machine and of Redis differ by \(abs(ahead) / 1000) s: due times and leases follow Redis, "
                    + "but ages that this machine shows are wrong"
            )
        ]
    }
}

/// A version number of three parts.
package struct ServerVersion: Comparable, Sendable {
    package var parts: [Int]

    package init(_ major: Int, _ minor: Int, _ patch: Int) { parts = [major, minor, patch] }

    package init?(_ text: String) {
        let numbers = text.split(separator: ".").prefix(3).map { Int($0) }
        guard numbers.count >= 2, !numbers.contains(nil) else { return nil }
        parts = Array((numbers.compactMap { $0 } + [0]).prefix(3))
    }

    package static func < (left: Self, right: Self) -> Bool { left.parts.lexicographicallyPrecedes(right.parts) }
}
