import Foundation
import Operations
import RedisClient
import TestSupport
import Testing

/// The built `sluice` in a namespace of its own.
struct CommandLine: Sendable {
    let namespace: String
    let endpoint: RedisEndpoint

    init(_ endpoint: RedisEndpoint = TestServer.shared.endpoint) {
        namespace = uniqueNamespace("cli")
        self.endpoint = endpoint
    }

    private var environment: [String: String] {
        ["SLUICE_REDIS_URL": endpoint.description, "SLUICE_NAMESPACE": namespace, "NO_COLOR": "1"]
    }

    func start(_ arguments: [String], environment: [String: String] = [:]) throws -> Program {
        try Program("sluice", arguments, environment: self.environment.merging(environment) { $1 })
    }

    /// Runs a command to its end.
    func callAsFunction(_ arguments: String..., environment: [String: String] = [:]) async throws -> Program.Outcome {
        await (try start(arguments, environment: environment)).outcome()
    }

    /// Runs a command that has to succeed, and returns its lines.
    @discardableResult
    func lines(
        _ arguments: String...,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> [String] {
        let outcome = await (try start(arguments)).outcome()
        #expect(outcome.code == 0, "\(arguments): \(outcome.errors)", sourceLocation: sourceLocation)
        return outcome.output.split(separator: "\n").map(String.init)
    }

    /// Enqueues and returns the id.
    func enqueue(_ arguments: String..., sourceLocation: SourceLocation = #_sourceLocation) async throws -> String {
        let outcome = await (try start(["enqueue", "-o", "id", "--quiet"] + arguments)).outcome()
        #expect(outcome.code == 0, "\(outcome.errors)", sourceLocation: sourceLocation)
        return try #require(outcome.output.split(separator: "\n").first.map(String.init))
    }

    /// Starts a worker and waits until it has its first lease.
    func worker(_ arguments: String..., environment: [String: String] = [:]) async throws -> Program {
        let worker = try start(["worker", "-v"] + arguments, environment: environment)
        try await eventually("the worker is known", within: .seconds(30)) {
            guard let suffix = worker.errors.firstMatch(of: /worker \S*?([0-9A-Z]{6}) pid/)?.1 else { return false }
            let ids = try await json("workers", "ls")["workers"]?.arrayValue?.compactMap { $0["id"]?.stringValue }
            return ids?.contains { $0.hasSuffix(suffix) } ?? false
        }
        return worker
    }

    /// The JSON that a command prints.
    func json(_ arguments: String..., sourceLocation: SourceLocation = #_sourceLocation) async throws -> JSONValue {
        let outcome = await (try start(arguments + ["-o", "json"])).outcome()
        return try #require(
            try? JSONValue(parsing: outcome.output),
            "\(arguments): \(outcome.output) \(outcome.errors)",
            sourceLocation: sourceLocation
        )
    }

    func state(_ id: String) async throws -> String { try await json("show", id)["state"]?.stringValue ?? "" }

    /// Waits until an operation is in a state.
    func reaches(_ state: String, _ id: String, within limit: Duration = .seconds(30)) async throws {
        try await eventually("\(id) is \(state)", within: limit) { try await self.state(id) == state }
    }

    /// Operations in a state, over all queues.
    func count(_ state: String) async throws -> Int { try await json("stats")["counts"]?[state]?.intValue ?? -1 }
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
