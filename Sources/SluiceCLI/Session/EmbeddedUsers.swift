import EmbeddedRedis
import Operations
import RedisClient
import Sluice
import SluiceMonitor
import SluiceOperator
import TerminalText

/// The users of the embedded server, for the question before the server is stopped.
struct EmbeddedUsers: Sendable {
    private var connections = 0
    private var workers = 0
    private var executing = 0
    private let namespace: String

    /// Counts the users; all counts are 0 if the server does not run.
    init(_ server: EmbeddedRedis, _ invocation: Invocation) async throws {
        namespace = invocation.settings.namespace.content
        guard try server.status() != nil else { return }
        connections = try Self.others(server.endpoint, within: invocation.settings.connectTimeout.content)
        guard connections > 0 else { return }
        guard let snapshot = try? await Self.snapshot(invocation) else { return }
        workers = WorkerSummary.merge(snapshot.queues).count { !$0.isLost }
        executing = snapshot.counts[.executing] ?? 0
    }

    var isEmpty: Bool { connections == 0 }

    /// `which 2 workers and 3 executing operations of namespace default use (9 connections)`
    var text: String {
        let all = Self.counted(connections, "connection")
        guard workers + executing > 0 else { return "which others use (\(all))" }
        let used = "\(Self.counted(workers, "worker")) and \(Self.counted(executing, "executing operation"))"
        return "which \(used) of namespace \(namespace) use (\(all))"
    }

    private static func snapshot(_ invocation: Invocation) async throws -> NamespaceSnapshot {
        var settings = invocation.settings
        settings.redis.content = nil
        let client = try await invocation.with(settings).connect()
        defer { Task { await client.close() } }
        return try await client.snapshot(executingRows: 0)
    }

    private static func counted(_ count: Int, _ noun: String) -> String {
        "\(QuantityText.grouped(count)) \(noun)\(count == 1 ? "" : "s")"
    }

    /// The number of connections besides this one.
    private static func others(_ endpoint: RedisEndpoint, within timeout: Duration) throws -> Int {
        let replies = try RedisProbe.ask(endpoint, [RedisCommand("INFO", "clients")], timeout: timeout)
        let info = try replies[0].expectString("INFO clients")
        let line = info.split(whereSeparator: \.isNewline).first { $0.hasPrefix("connected_clients:") }
        return max(0, (line.flatMap { Int($0.dropFirst("connected_clients:".count)) } ?? 1) - 1)
    }
}
