import Foundation
import Logging
import RedisBroker
import RedisClient
import TestSupport
import Testing

/// The setup of one user: a Redis, a namespace, a state folder, and the built programs
final class Installation: Sendable {
    let redis: TestRedis
    let namespace: String
    let folder: TemporaryDirectory
    let ledger: Ledger
    private let url: String
    private let workerURL: String

    /// - Parameters:
    ///   - redis: the Redis to use. Tests never stop or reconfigure the shared one.
    ///   - url: the URL of the programs; nil means that of `redis`.
    ///   - workerURL: the URL of `worker(…)`; nil means `url`.
    ///   - namespace: a unique one by default.
    init(
        _ redis: TestRedis = .shared,
        url: String? = nil,
        workerURL: String? = nil,
        namespace: String = uniqueNamespace()
    ) throws {
        self.redis = redis
        self.namespace = namespace
        self.url = url ?? redis.url
        self.workerURL = workerURL ?? self.url
        folder = try TemporaryDirectory()
        ledger = Ledger(path: folder.path("ledger"))
    }

    /// The settings of all its programs. The programs read and write no file of the real user.
    var environment: [String: String] {
        [
            "SLUICE_REDIS_URL": url, "SLUICE_NAMESPACE": namespace, "SLUICE_STATE_DIR": folder.path("state"),
            "HOME": folder.url.path,
        ]
    }

    // MARK: Commands

    /// Runs a command to its end.
    func sluice(_ arguments: String..., input: String? = nil) async throws -> Program.Outcome {
        try await run(arguments, input: input)
    }

    /// Runs a command that has to succeed.
    /// - Returns: its standard output without the last line end.
    @discardableResult
    func succeed(_ arguments: String..., input: String? = nil) async throws -> String {
        let outcome = try await run(arguments, input: input)
        try #require(outcome.code == 0, "\(arguments) exited with \(outcome.code): \(outcome.output) \(outcome.errors)")
        return String(outcome.output.drop(while: \.isNewline).reversed().drop(while: \.isNewline).reversed())
    }

    func run(_ arguments: [String], input: String?) async throws -> Program.Outcome {
        try await Program.run("sluice", arguments, environment: environment, input: input)
    }

    /// Starts a command, or a worker.
    func start(_ arguments: String...) throws -> Program {
        try Program("sluice", arguments, environment: environment)
    }

    /// Starts a worker with a short lease, which keeps tests of lost workers short.
    func worker(slots: Int = 4, lease: Int = Installation.lease, more: String...) throws -> Program {
        let arguments = ["worker", "-c", "\(slots)", "--lease", "\(lease)s", "--allow", "exec"] + more
        return try Program(
            "sluice",
            arguments,
            environment: environment.merging(["SLUICE_REDIS_URL": workerURL]) { $1 }
        )
    }

    /// Recovers what a stopped worker could not give back in time: see ``RedisBroker/recoverRest(of:since:)``.
    func recoverRest(
        of worker: Program,
        since second: ContinuousClock.Instant? = nil
    ) async throws -> ClosedRange<Int> {
        let broker = RedisBroker(
            redis.endpoint,
            configuration: .patient(namespace: namespace),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        defer { broker.close() }
        return try await broker.recoverRest(of: worker, since: second)
    }

    /// The lease of a worker in seconds
    static let lease = 3
    /// The time within which other workers run the operations of a lost worker: lease, one heartbeat, one second
    static let recovery = Duration.seconds(lease + lease / 3 + 1)

    /// Enqueues an operation.
    /// - Returns: its id.
    func enqueue(_ arguments: String...) async throws -> String { try await enqueue(arguments) }

    func enqueue(_ arguments: [String]) async throws -> String {
        let outcome = try await run(["enqueue", "-o", "id", "--quiet"] + arguments, input: nil)
        try #require(outcome.code == 0, "\(outcome.errors)")
        return outcome.output.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Enqueues many operations of one kind.
    /// - Returns: their ids.
    func enqueue(batch line: String, count: Int) async throws -> [String] {
        let text = String(repeating: line + "\n", count: count)
        let outcome = try await run(["enqueue", "--batch", "-", "-o", "id", "--quiet"], input: text)
        try #require(outcome.code == 0, "\(outcome.errors)")
        return outcome.output.split(whereSeparator: \.isNewline).map(String.init)
    }

    // MARK: Looking

    func show(_ id: String) async throws -> Shown {
        let outcome = try await sluice("show", id, "-o", "json")
        try #require(outcome.code == 0, "\(outcome.errors)")
        return try JSONDecoder().decode(Shown.self, from: Data(outcome.output.utf8))
    }

    /// Returns the operations in the order of the ids.
    func show(_ ids: [String]) async throws -> [Shown] {
        let outcome = try await run(["show", "-o", "jsonl"] + ids, input: nil)
        try #require(outcome.code == 0, "\(outcome.errors)")
        return try outcome.output.split(whereSeparator: \.isNewline)
            .map { try JSONDecoder().decode(Shown.self, from: Data($0.utf8)) }
    }

    /// The number of operations by state
    func counts() async throws -> [String: Int] { try await stats().counts }

    /// The totals since the queues exist
    func totals() async throws -> [String: Int] { try await stats().totals }

    func awaitWorkers(_ count: Int) async throws {
        try await eventually("\(count) workers are known") { try await stats().workers == count }
    }

    private func stats() async throws -> Stats {
        try JSONDecoder().decode(Stats.self, from: Data(try await succeed("stats", "-o", "json").utf8))
    }

    func awaitState(_ state: String, of id: String, within limit: Duration = patience) async throws {
        try await eventually("\(id) is \(state)", within: limit) { try await show(id).state == state }
    }

    /// Waits until an operation is unhandled: no worker knows its name.
    func awaitUnhandled(_ id: String) async throws {
        try await eventually("\(id) is unhandled") { try await show(id).unhandled }
    }

    func awaitStates(_ state: String, of ids: [String], within limit: Duration = patience) async throws {
        try await eventually("\(ids.count) operations are \(state)", within: limit) {
            try await show(ids).allSatisfy { $0.state == state }
        }
    }

    private struct Stats: Decodable {
        var counts: [String: Int]
        var totals: [String: Int]
        var workers: Int
    }
}

/// An operation as `show -o json` prints it.
struct Shown: Decodable {
    struct Failure: Decodable {
        var type: String
        var message: String
        var attempt: Int
        var delivery: Int
        var details: [String: Int]?
    }

    struct Cancel: Decodable {
        var requestedAt: String?
        var acknowledgedAt: String?
        var stoppedAt: String?
        var reason: String
        var forced: Forced?
    }

    struct Forced: Decodable {
        var by: String
        var reason: String
        var worker: String
    }

    struct Result: Decodable { var exitCode: Int? }
    struct Progress: Decodable { var fraction: Double }

    var id: String
    var state: String
    /// True if the operation waits for a worker that knows its name
    var unhandled: Bool
    var attempt: Int
    var delivery: Int
    var fence: Int?
    var worker: String?
    var progress: Progress?
    var enqueuedAt: String?
    var startedAt: String?
    var endedAt: String?
    var dueAt: String?
    var result: Result?
    var errors: [Failure]
    var cancel: Cancel?
}

extension Duration {
    /// The duration in seconds, for the output of tests
    var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) * 1e-18 }
}
