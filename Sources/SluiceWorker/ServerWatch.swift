import Logging
import Operations
import RedisBroker
import RedisClient
import WorkerRuntime

/// Checks that a server is safe for operations, at the start of a worker and repeatedly while it runs. Settings can
/// change, and Redis may have been away at the start.
package struct ServerWatch: Sendable {
    /// The time between two attempts to reach a server for the first time.
    private static let impatience: Duration = .seconds(1)

    let endpoint: RedisEndpoint
    let namespace: String
    let timeout: Duration
    let interval: Duration
    let allowsEviction: Bool
    let logger: Logger

    /// - Parameters:
    ///   - endpoint: the server.
    ///   - namespace: the namespace; its protocol must be that of this program.
    ///   - timeout: longest time to wait for an answer.
    ///   - interval: the time between two checks.
    ///   - allowsEviction: true = accept a server that may evict operations.
    ///   - logger: gets warnings.
    package init(
        endpoint: RedisEndpoint,
        namespace: String,
        timeout: Duration,
        interval: Duration,
        allowsEviction: Bool,
        logger: Logger
    ) {
        self.endpoint = endpoint
        self.namespace = namespace
        self.timeout = timeout
        self.interval = interval
        self.allowsEviction = allowsEviction
        self.logger = logger
    }

    /// Refuses a server on which nothing would work or operations would get lost. Logs a warning if this may happen
    /// later.
    ///
    /// - Returns: the check of the server; nil if it did not answer.
    /// - Throws: `WorkerError` with `.unsafeServer`, `.unsupportedServer` or `.incompatible`.
    package func examine() async throws -> ServerCheck? {
        guard let server = await ServerCheck.ask(endpoint, namespace: namespace, timeout: timeout) else { return nil }
        try judge(server)
        warn(server)
        return server
    }

    /// - Throws: `WorkerError` with `.unsafeServer`, `.unsupportedServer` or `.incompatible`.
    private func judge(_ server: ServerCheck) throws(WorkerError) {
        if let refusal = server.refusal {
            throw WorkerError(.unsupportedServer, refusal, fix: server.remedy)
        }
        if let incompatibility = server.incompatibility {
            let other = NamespaceProtocol.otherNamespace(than: namespace)
            throw WorkerError(.incompatible, incompatibility, fix: "export SLUICE_NAMESPACE=\(other)")
        }
        if let danger = server.danger, !allowsEviction {
            throw WorkerError(.unsafeServer, danger, fix: "redis-cli CONFIG SET maxmemory-policy noeviction")
        }
    }

    /// Logs whenever the server becomes unsafe, until the task is cancelled. A running worker continues: the operations
    /// that it holds are safest there.
    ///
    /// - Parameter refuse: called if a server that was away at the start turns out to be unusable.
    func run(since first: ServerCheck?, refuse: @Sendable (WorkerError) -> Void) async {
        var last = first
        while (try? await Task.sleep(for: last == nil ? min(interval, Self.impatience) : interval)) != nil {
            guard let server = await ServerCheck.ask(endpoint, namespace: namespace, timeout: timeout) else { continue }
            if last == nil {
                do { try judge(server) } catch { return refuse(error) }
            }
            if server != last { warn(server, wasSafe: last?.warning == nil) }
            last = server
        }
    }

    private func warn(_ server: ServerCheck, wasSafe: Bool = false) {
        if let danger = server.danger {
            logger.error("\(danger)")
        } else if let warning = server.warning {
            logger.warning("\(warning)")
        } else if !wasSafe {
            logger.debug("Redis does not evict keys (maxmemory-policy \(server.evictionPolicy))")
        }
    }
}
