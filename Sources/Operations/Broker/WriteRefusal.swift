/// Why a server refuses writes, or writes that add data.
package struct WriteRefusal: Sendable, Equatable {
    package enum Cause: String, Sendable {
        case loading, replica, noReplicas, full, disk, clusterDown
    }

    /// HOST:PORT of a cluster's node; nil = a single server.
    package var server: String?
    package var cause: Cause
    /// A clause that can follow "Redis takes no writes:".
    package var reason: String
    /// A command of redis-cli, or another advice.
    package var fix: String

    package init(server: String?, cause: Cause, reason: String, fix: String) {
        self.server = server
        self.cause = cause
        self.reason = reason
        self.fix = fix
    }

    /// Whether only new data is refused: stored operations still run and end.
    package var isOfNewDataOnly: Bool { cause == .full }

    /// `Redis takes no writes: …`, with the address of a cluster's node.
    package var sentence: String {
        let subject = server.map { "Redis at \($0)" } ?? "Redis"
        return "\(subject) takes no \(isOfNewDataOnly ? "new operations" : "writes"): \(reason)"
    }

    /// The JSON of `writeRefusals` in several schemas.
    package static func json(_ refusals: [WriteRefusal]) -> JSONValue {
        .array(
            refusals.map {
                [
                    "server": JSONValue($0.server), "cause": .string($0.cause.rawValue), "reason": .string($0.reason),
                    "fix": .string($0.fix),
                ]
            }
        )
    }
}

// MARK: - What a server says of itself

extension ServerAudit {
    /// Why this server refuses writes now, by the rules of Redis' `processCommand`.
    package var writeRefusals: [WriteRefusal] {
        [loadingRefusal, clusterRefusal, replicaRefusal, replicasRefusal, diskRefusal, memoryRefusal].compactMap { $0 }
    }

    private func refusal(_ cause: WriteRefusal.Cause, _ reason: String, fix: String) -> WriteRefusal {
        WriteRefusal(server: name, cause: cause, reason: reason, fix: fix)
    }

    private func number(_ field: String) -> Int64? { info[field].flatMap { Int64($0) } }

    private var loadingRefusal: WriteRefusal? {
        guard info["loading"] == "1" || info["async_loading"] == "1" else { return nil }
        let done = info["loading_loaded_perc"].map { ", \($0) % are done" } ?? ""
        return refusal(.loading, "it is loading its data\(done)", fix: "wait until Redis has loaded its data")
    }

    private var clusterRefusal: WriteRefusal? {
        guard let state = info["cluster_state"], state != "ok" else { return nil }
        return refusal(
            .clusterDown,
            "its cluster is down: not all hash slots are served",
            fix: "redis-cli CLUSTER INFO"
        )
    }

    private var replicaRefusal: WriteRefusal? {
        guard info["role"] == "slave" else { return nil }
        let master = [info["master_host"], info["master_port"]].compactMap { $0 }.joined(separator: ":")
        return refusal(
            .replica,
            "it is a replica\(master.isEmpty ? "" : " of \(master)")",
            fix: "connect to the master, or make this one the master: redis-cli REPLICAOF NO ONE"
        )
    }

    /// Without the permission for CONFIG, the required number is unknown; it is at least one.
    private var replicasRefusal: WriteRefusal? {
        guard info["role"] != "slave", let good = number("min_slaves_good_slaves") else { return nil }
        let asked = configuration["min-replicas-to-write"].flatMap { Int64($0) } ?? 1
        guard good < asked else { return nil }
        return refusal(
            .noReplicas,
            "min-replicas-to-write is \(configuration["min-replicas-to-write"] ?? "set"), and \(good) replicas keep up",
            fix: "start its replicas, or accept the risk: redis-cli CONFIG SET min-replicas-to-write 0"
        )
    }

    /// Without the permission for CONFIG, a failed snapshot is not reported, because it may not stop writes.
    private var diskRefusal: WriteRefusal? {
        let isBlockedByAppends = info["aof_enabled"] == "1" && info["aof_last_write_status"] == "err"
        let isBlockedBySnapshot =
            info["rdb_last_bgsave_status"] == "err" && configuration["save"]?.isEmpty == false
            && configuration["stop-writes-on-bgsave-error"] != "no"
        guard isBlockedByAppends || isBlockedBySnapshot else { return nil }
        let what = isBlockedByAppends ? "append to its file" : "write its snapshot"
        return refusal(
            .disk,
            "it could not \(what) last time",
            fix: "read the log of Redis: the disk is full, or it may not write to its folder"
        )
    }

    /// Counts the used memory as Redis does when it refuses a command.
    private var memoryRefusal: WriteRefusal? {
        let policy = configuration["maxmemory-policy"] ?? info["maxmemory_policy"] ?? "noeviction"
        guard let limit = number("maxmemory"), limit > 0, let used = number("used_memory"),
            used - (number("mem_not_counted_for_evict") ?? 0) >= limit, !policy.hasPrefix("allkeys")
        else { return nil }
        return refusal(
            .full,
            "its memory is full (maxmemory is \(limit) bytes); stored operations still run and end",
            fix: "redis-cli CONFIG SET maxmemory \(limit + max(limit / 4, 64 << 20))"
        )
    }
}
