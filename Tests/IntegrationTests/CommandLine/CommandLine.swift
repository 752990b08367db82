import Foundation
import Logging
import Operations
import RedisBroker
import RedisClient
import TestSupport
import Testing

/// The tests that start the built program.
@Suite("Command line", .fewAtOnce, .timeLimit(.minutes(60)))
enum CommandLineTests {}

/// The built `sluice` in its own namespace, and direct reads of Redis that are faster than another process.
struct CommandLine: Sendable {
    let namespace: String
    let endpoint: RedisEndpoint
    let broker: RedisBroker

    init(_ endpoint: RedisEndpoint = TestRedis.shared.endpoint) {
        namespace = uniqueNamespace("cli")
        self.endpoint = endpoint
        broker = RedisBroker(
            endpoint,
            configuration: .patient(namespace: namespace),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    private var environment: [String: String] {
        [
            "SLUICE_REDIS_URL": endpoint.description, "SLUICE_NAMESPACE": namespace, "NO_COLOR": "1",
            "XDG_CONFIG_HOME": "/none",
        ]
    }

    /// Returns the environment for another program that runs this command, with the user of the command's role.
    func environment(for arguments: [String]) -> [String: String] { TestUsers.environment(environment, for: arguments) }

    /// Starts `sluice`, or another program with its commands.
    func start(
        _ arguments: [String],
        program: String = "sluice",
        environment: [String: String] = [:]
    ) throws -> Program {
        try Program(program, arguments, environment: self.environment.merging(environment) { $1 })
    }

    /// Runs a command to its end.
    func callAsFunction(_ arguments: String..., environment: [String: String] = [:]) async throws -> Program.Outcome {
        await (try start(arguments, environment: environment)).outcome()
    }

    /// Runs a command that must succeed, and returns its output lines.
    @discardableResult
    func lines(
        _ arguments: String...,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> [String] {
        let outcome = await (try start(arguments)).outcome()
        #expect(outcome.code == 0, "\(arguments): \(outcome.errors)", sourceLocation: sourceLocation)
        return outcome.output.split(separator: "\n").map(String.init)
    }

    /// Enqueues an operation and returns its id.
    func enqueue(_ arguments: String..., sourceLocation: SourceLocation = #_sourceLocation) async throws -> String {
        let outcome = await (try start(["enqueue", "-o", "id", "--quiet"] + arguments)).outcome()
        #expect(outcome.code == 0, "\(outcome.errors)", sourceLocation: sourceLocation)
        return try #require(outcome.output.split(separator: "\n").first.map(String.init))
    }

    /// Starts a worker and waits until it has its first lease.
    func worker(
        _ arguments: String...,
        program: String = "sluice",
        environment: [String: String] = [:]
    ) async throws -> Program {
        try await worker(arguments, program: program, environment: environment)
    }

    func worker(
        _ arguments: [String],
        program: String = "sluice",
        environment: [String: String] = [:]
    ) async throws -> Program {
        let worker = try start(["worker", "-v"] + arguments, program: program, environment: environment)
        try await eventually("the worker is known") {
            guard let suffix = worker.errors.firstMatch(of: /worker \S*?([0-9A-Z]{6}) pid/)?.1 else { return false }
            return try await snapshots().contains { $0.workers.contains { $0.worker.hasSuffix(suffix) } }
        }
        return worker
    }

    /// Waits until all workers of a queue are in this phase. A worker obeys a request only when it hears of it.
    func awaitPhase(_ phase: String, ofWorkersOf queue: String) async throws {
        try await eventually("the workers of \(queue) are \(phase)") {
            let workers = try await snapshots().first { $0.queue == queue }?.workers ?? []
            return !workers.isEmpty && workers.allSatisfy { WorkerInfo($0.info)?.phase == phase }
        }
    }

    /// Runs a command and returns its output as JSON.
    func json(_ arguments: String..., sourceLocation: SourceLocation = #_sourceLocation) async throws -> JSONValue {
        let outcome = await (try start(arguments + ["-o", "json"])).outcome()
        return try #require(
            try? JSONValue(parsing: outcome.output),
            "\(arguments): \(outcome.output) \(outcome.errors)",
            sourceLocation: sourceLocation
        )
    }

    func snapshots() async throws -> [QueueSnapshot] {
        var snapshots: [QueueSnapshot] = []
        for queue in try await broker.queues() {
            snapshots.append(try await broker.snapshot(queue: queue, executingRows: 0))
        }
        for each in snapshots {
            Seen.note("\(each.queue): \(each.counts) \(each.totals) \(each.workers.map(\.worker))")
        }
        return snapshots
    }

    func detail(_ id: String) async throws -> OperationDetail? {
        guard let id = OperationID(id) else { return nil }
        for queue in try await broker.queues() {
            guard let detail = try await broker.details([id], queue: queue)[0] else { continue }
            Seen.note("\(id) in \(queue) is \(detail.state): \(detail.record)")
            return detail
        }
        return nil
    }

    func state(_ id: String) async throws -> String { try await detail(id)?.state.rawValue ?? "none" }

    /// Waits until an operation is in a state.
    func reaches(_ state: String, _ id: String) async throws {
        try await eventually("\(id) is \(state)") { try await self.state(id) == state }
    }

    /// Waits until the body of a `sleep` of more than one second has begun. The state is `executing` from the claim on.
    /// A worker that stops between claim and begin gives the operation back.
    func begins(_ id: String) async throws {
        try await eventually("\(id) has begun") { try await detail(id)?.progress != nil }
    }

    /// The number of operations in a state, over all queues
    func count(_ state: OperationState) async throws -> Int {
        try await snapshots().reduce(0) { $0 + ($1.counts[state] ?? 0) }
    }

    /// One of the totals, over all queues.
    func total(_ name: String) async throws -> Int64 {
        try await snapshots().reduce(0) { $0 + ($1.totals[name] ?? 0) }
    }
}

extension JSONValue {
    /// Milliseconds since 1970 of a member that is a time.
    func milliseconds(_ key: String) -> Int64? {
        let formatter = ISO8601DateFormatter()
        formatter.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
        let date = self[key]?.stringValue.flatMap(formatter.date)
        return date.map { Int64(($0.timeIntervalSince1970 * 1000).rounded()) }
    }
}

extension TemporaryDirectory {
    /// Writes a file, and returns its path.
    func file(_ name: String, _ text: String, mode: Int = 0o644) throws -> String {
        try Data(text.utf8).write(to: URL(fileURLWithPath: path(name)))
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path(name))
        return path(name)
    }
}
