import Dispatch
import Operations
import RedisClient
import SluiceMonitor

/// Whether a server is one on which operations are safe.
struct ServerCheck: Sendable, Equatable {
    private static let oldest = (major: 6, minor: 2)

    /// As INFO says it: Redis' own version, also of servers that are compatible with it.
    var version: String
    var evictionPolicy: String
    /// Bytes; 0 = no limit.
    var maxMemory: Int64

    /// Asks the server.
    ///
    /// - Returns: nil if it does not answer, or not to everybody; whoever works with it will find out more.
    static func ask(_ endpoint: RedisEndpoint, timeout: Duration) async -> ServerCheck? {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                // One command for all sections: an idle worker has few to spare.
                let replies = try? RedisProbe.ask(endpoint, [RedisCommand("INFO")], timeout: timeout)
                continuation.resume(
                    returning: replies.map { ServerCheck(info: $0.compactMap(\.string).joined(separator: "\n")) }
                )
            }
        }
    }

    init(info: String) {
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

    /// What is harmless as long as nobody sets a limit of memory.
    var warning: String? {
        guard mayEvict else { return nil }
        return "Redis would throw operations away if it had a maxmemory (maxmemory-policy \(evictionPolicy)): "
            + "set it to noeviction"
    }

    /// Why operations may get lost.
    var danger: String? {
        guard mayEvict, maxMemory > 0 else { return nil }
        return "Redis throws operations away when its \(QuantityText.bytes(maxMemory)) are full "
            + "(maxmemory-policy \(evictionPolicy))"
    }

    /// Why nothing would work.
    var refusal: String? {
        let parts = version.split(separator: ".").compactMap { Int($0) }
        guard parts.count >= 2, (parts[0], parts[1]) < Self.oldest else { return nil }
        return "Redis \(version) is too old: \(Self.oldest.major).\(Self.oldest.minor) is needed"
    }
}
