import EmbeddedRedis
import Foundation
import Logging
import NIOPosix
import Operations
import RedisBroker
import RedisClient
import Sluice
import SluiceCLI
import Synchronization

/// The environment of a benchmark: a redis-server in a folder of its own, a client, a control connection and workers.
///
/// The control connection asks the server about itself. `close()` ends everything. The workers hold the other end of a
/// pipe, so they end even if this process is killed.
final class BenchRig: Sendable {
    static let queue = "bench"
    static let namespace = "bench"
    /// The command with which this program is a worker with `BenchOperations`.
    static let worker = "worker"

    let client: SluiceClient
    let broker: RedisBroker
    let control: RedisConnection
    let endpoint: RedisEndpoint
    private let server: EmbeddedRedis
    private let folder: URL
    private let parentPipe: Int32
    private let watchdog: Process
    private let workers = Mutex<[WorkerProcess]>([])

    /// The time without a finished operation after which the benchmark gives up.
    private static let patience: Duration = .seconds(60)

    /// Starts the server.
    ///
    /// - Throws: `EmbeddedRedisError`, or `CLIError` if no folder can be made.
    static func start() async throws -> BenchRig {
        // Benchmarks ignore the settings for real workers (keys, a Redis).
        for name in ProcessInfo.processInfo.environment.keys
        where name.hasPrefix("SLUICE_") && name != "SLUICE_REDIS_SERVER" {
            unsetenv(name)
        }
        let folder = try PrivateFolder.make("sluice-bench")
        let server = EmbeddedRedis(directory: folder.path)
        do {
            let status = try await SluiceClient.startedServer(server)
            return try await BenchRig(server, pid: status.pid, folder)
        } catch {
            _ = try? server.stop()
            try? FileManager.default.removeItem(at: folder)
            throw error
        }
    }

    private init(_ server: EmbeddedRedis, pid: Int32, _ folder: URL) async throws {
        self.server = server
        self.folder = folder
        endpoint = server.endpoint
        parentPipe = try ParentWatch.make()
        watchdog = try Self.watchdog(parentPipe, pid: pid, folder)
        let broker = RedisBroker(
            endpoint,
            configuration: RedisBrokerConfiguration(namespace: Self.namespace),
            logger: Self.silent
        )
        self.broker = broker
        client = SluiceClient(broker: broker, namespace: Self.namespace) { broker.close() }
        control = try await Self.connect(endpoint)
        try await control.send(RedisCommand("CONFIG", "SET", "appendonly", "no"))
        // A script is slow if it takes longer than the budget allows. The slow log keeps all of them.
        try await control.send(RedisCommand("CONFIG", "SET", "slowlog-log-slower-than", "5000"))
        try await control.send(RedisCommand("CONFIG", "SET", "slowlog-max-len", "1000000"))
    }

    static let silent = Logger(label: "sluice.bench") { _ in SwiftLogNoOpLogHandler() }

    static func connect(_ endpoint: RedisEndpoint) async throws -> RedisConnection {
        try await RedisConnection.connect(
            endpoint,
            configuration: RedisConnectionConfiguration(commandDeadline: .seconds(120)),
            on: MultiThreadedEventLoopGroup.singleton.any(),
            logger: silent
        ).get()
    }

    /// Starts a shell that ends the server if this process is killed, because the server runs in a session of its own.
    private static func watchdog(_ parentPipe: Int32, pid: Int32, _ folder: URL) throws -> Process {
        let watchdog = Process()
        watchdog.executableURL = URL(fileURLWithPath: "/bin/sh")
        watchdog.arguments = ["-c", #"read -r _; kill -9 "$0"; rm -rf "$1""#, "\(pid)", folder.path]
        watchdog.standardInput = FileHandle(fileDescriptor: parentPipe, closeOnDealloc: false)
        watchdog.standardError = FileHandle.nullDevice
        try watchdog.run()
        return watchdog
    }

    /// Ends workers and server, and removes the folder. May be called twice, and from any thread.
    func close() {
        watchdog.terminate()
        for worker in workers.withLock({ $0 }) { worker.send(SIGKILL) }
        control.close()
        broker.close()
        _ = try? server.stop()
        try? FileManager.default.removeItem(at: folder)
    }

    // MARK: Server

    /// Empties the server and resets its statistics.
    func reset() async throws {
        try await control.send(RedisCommand("FLUSHALL"))
        try await control.send(RedisCommand("CONFIG", "RESETSTAT"))
        try await control.send(RedisCommand("SLOWLOG", "RESET"))
        // FLUSHALL also removed the queue from the namespace, but the broker still considers it registered.
        try await control.send(RedisCommand("SADD", "\(Self.namespace):queues", Self.queue))
    }

    func info(_ section: String) async throws -> [String: String] {
        let text = try await control.send(RedisCommand("INFO", section)).string ?? ""
        return Dictionary(
            text.split(whereSeparator: \.isNewline).compactMap { line in
                let parts = line.split(separator: ":", maxSplits: 1).map(String.init)
                return parts.count == 2 ? (parts[0], parts[1]) : nil
            },
            uniquingKeysWith: { $1 }
        )
    }

    func memory() async throws -> Double {
        // Redis updates this number in the background after it frees memory.
        Double(try await info("memory")["used_memory"] ?? "") ?? 0
    }

    /// The work of the server since `reset()`.
    func commands() async throws -> ServerWork { ServerWork(try await info("commandstats")) }

    private func total(_ name: String, in queue: String) async throws -> Int {
        try await control.send(RedisCommand("HGET", "{\(Self.namespace)/\(queue)}:totals", name)).string
            .flatMap { Int($0) } ?? 0
    }

    /// Waits until so many operations have finished.
    ///
    /// The longer the wait, the rarer the checks: the measured time is at most 1 % or 2 ms too long, and the checks
    /// hardly disturb the run.
    ///
    /// - Throws: `CLIError` if nothing finishes for a minute.
    func waitUntilFinished(_ count: Int, in queue: String = BenchRig.queue) async throws {
        let begin = ContinuousClock.now
        var (last, since) = (-1, begin)
        while true {
            let finished = try await total("finished", in: queue)
            if finished >= count { return }
            if finished != last { (last, since) = (finished, .now) }
            guard ContinuousClock.now - since < Self.patience else {
                throw CLIError(.bug, "\(finished) of \(count) operations finished, then none for \(Self.patience)")
            }
            try await Task.sleep(for: max(.milliseconds(2), (ContinuousClock.now - begin) / 100))
        }
    }

    // MARK: Workers

    /// Starts a worker process and waits until it has its lease.
    @discardableResult
    func startWorker(slots: Int, endpoint: RedisEndpoint? = nil, queues: String = BenchRig.queue) async throws
        -> WorkerProcess
    {
        let id = WorkerID()
        let process = try WorkerProcess(
            id,
            arguments: [
                Self.worker, "--redis", Self.url(endpoint ?? self.endpoint), "--namespace", Self.namespace,
                "-q", queues, "-c", "\(slots)", "--quiet", "--drain-timeout", "2s", "--supervised", id.description,
            ],
            parentPipe: parentPipe,
            isSilent: true
        )
        workers.withLock { $0.append(process) }
        let first = queues.split(separator: ",").first.map(String.init) ?? queues
        let begin = ContinuousClock.now
        while !(try await isKnown(id, first)) {
            guard ContinuousClock.now - begin < Self.patience else {
                throw CLIError(.bug, "a worker has not begun within \(Self.patience)")
            }
            try await Task.sleep(for: .milliseconds(5))
        }
        return process
    }

    private func isKnown(_ worker: WorkerID, _ queue: String) async throws -> Bool {
        let workers = try await broker.snapshot(queue: queue, executingRows: 0).workers
        return workers.contains { $0.worker == worker.description }
    }

    /// Stops workers with SIGTERM, as an operator would, and waits for their end.
    func stop(_ processes: [WorkerProcess]) async throws {
        for process in processes { process.send(SIGTERM) }
        for process in processes { _ = await process.end() }
        workers.withLock { running in running.removeAll { one in processes.contains { $0 === one } } }
    }

    private static func url(_ endpoint: RedisEndpoint) -> String {
        if case .unix(let path) = endpoint.address { return "unix://\(path)" }
        return "\(endpoint)"
    }
}

/// The server's own statistics of its commands.
struct ServerWork: Sendable {
    /// Calls and microseconds by command, in lower case.
    private(set) var calls: [String: Double] = [:]
    private(set) var microseconds: [String: Double] = [:]

    init(_ info: [String: String]) {
        for (key, value) in info where key.hasPrefix("cmdstat_") {
            let name = String(key.dropFirst("cmdstat_".count))
            for field in value.split(separator: ",") {
                let parts = field.split(separator: "=")
                if parts.first == "calls" { calls[name] = Double(parts[1]) }
                if parts.first == "usec" { microseconds[name] = Double(parts[1]) }
            }
        }
    }

    private static let scripts = ["evalsha", "eval"]
    var scriptCalls: Double { Self.scripts.reduce(0) { $0 + (calls[$1] ?? 0) } }
    var scriptMicroseconds: Double { Self.scripts.reduce(0) { $0 + (microseconds[$1] ?? 0) } }
    /// All calls, including those inside scripts.
    var allCalls: Double { calls.values.reduce(0, +) }
}
