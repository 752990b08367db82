import Dispatch
import Foundation
import Operations
import RedisBroker
import RedisClient

/// The answers of a server that show whether operations are safe there.
package struct ServerCheck: Sendable, Equatable {
    private static let oldest = (major: 6, minor: 2)

    /// The version of Redis in INFO; compatible servers report one as well.
    var version: String
    var evictionPolicy: String
    /// The memory limit in bytes; 0 = no limit.
    var maxMemory: Int64
    /// Why the server refuses INFO; nil if it answered.
    var silence: String?
    /// Why this program cannot use the namespace; nil if it can.
    var incompatibility: String?
    /// True for a node of a cluster that was named as if it were the only server.
    var isLoneNode = false

    /// Asks the server, or each master of a cluster.
    ///
    /// - Returns: the check of the least safe server; nil if a server does not answer or does not allow this user to
    ///   connect.
    static func ask(_ endpoint: RedisEndpoint, namespace: String, timeout: Duration) async -> ServerCheck? {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                // One command for all sections: an idle worker should send few commands.
                let commands = [RedisCommand("INFO"), NamespaceProtocol.question(namespace: namespace)]
                let replies = try? RedisProbe.askAll(endpoint, commands, timeout: timeout)
                let checks = replies.map { $0.map { ServerCheck($0, endpoint, namespace: namespace) } }
                continuation.resume(returning: checks?.max { $0.trouble < $1.trouble })
            }
        }
    }

    private init(_ replies: [RedisValue], _ endpoint: RedisEndpoint, namespace: String) {
        let info = replies[0].string ?? ""
        self.init(info: info)
        silence = replies[0].error?.message
        // In a cluster one node answers; the others redirect.
        if let found = replies[1].string {
            do { try NamespaceProtocol.check(found, namespace: namespace) } catch { incompatibility = error.message }
        }
        isLoneNode = !endpoint.isCluster && info.contains("redis_mode:cluster")
    }

    private var trouble: Int { isRefused ? 3 : danger != nil ? 2 : warning != nil ? 1 : 0 }
    private var isRefused: Bool { refusal != nil || incompatibility != nil }

    package init(info: String) {
        var values: [String: String] = [:]
        for line in info.split(whereSeparator: \.isNewline) {
            let parts = line.split(separator: ":", maxSplits: 1).map(String.init)
            if parts.count == 2 { values[parts[0]] = parts[1] }
        }
        version = values["redis_version"] ?? ""
        evictionPolicy = values["maxmemory_policy"] ?? ""
        maxMemory = values["maxmemory"].flatMap { Int64($0) } ?? 0
    }

    private var mayEvict: Bool { !["", "noeviction"].contains(evictionPolicy) }

    /// A problem that is harmless as long as Redis has no memory limit, or that cannot be ruled out.
    package var warning: String? {
        if let silence {
            return "cannot check maxmemory-policy, because Redis refuses INFO (\(silence)): allow this user +info, "
                + "and set the policy to noeviction"
        }
        guard mayEvict else { return nil }
        return "maxmemory-policy is \(evictionPolicy), so with a maxmemory Redis would evict operations: "
            + "run redis-cli CONFIG SET maxmemory-policy noeviction"
    }

    /// Why operations may get lost; nil if they are safe.
    package var danger: String? {
        guard mayEvict, maxMemory > 0 else { return nil }
        return "Redis evicts operations when its \(maxMemory.formatted(.byteCount(style: .memory))) are full "
            + "(maxmemory-policy \(evictionPolicy), expected noeviction)"
    }

    /// Why nothing would work on this server; nil if it is supported.
    package var refusal: String? {
        if isLoneNode {
            return "the URL names a single node of a Redis Cluster, which stores other queues on other nodes"
        }
        let parts = version.split(separator: ".").compactMap { Int($0) }
        guard parts.count >= 2, (parts[0], parts[1]) < Self.oldest else { return nil }
        return "Redis \(version) is too old: \(Self.oldest.major).\(Self.oldest.minor) is needed"
    }

    /// The server to use instead of a refused one.
    var remedy: String { isLoneNode ? "redis+cluster://HOST:PORT" : "a newer Redis, or Valkey 7.2" }
}
