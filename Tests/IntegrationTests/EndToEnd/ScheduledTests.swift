import BrokerModel
import Foundation
import Operations
import TestSupport
import Testing

@Suite("Schedules under faults", .fewAtOnce, .timeLimit(.minutes(60)))
struct ScheduledTests {
    private static let seconds = 30

    /// Returns the instants whose operations have finished; each id begins with its instant. A list can miss operations
    /// that move during the read, but finished ones do not move.
    private func instants(_ installation: Installation) async throws -> [Int64] {
        let ids = try await installation.succeed("list", "tag:tick state:finished", "--limit", "1000", "-o", "id")
        return ids.split(whereSeparator: \.isNewline).compactMap { id in
            OperationID(String(id)).map { Int64($0.high >> 16) }
        }.sorted()
    }

    @Test(
        "Five workers under repeated SIGKILL and a schedule each second: each instant is enqueued once"
    )
    func kills() async throws {
        let installation = try Installation()
        var workers = try (0..<5).map { _ in try installation.worker(slots: 1) }
        try await installation.awaitWorkers(5)
        try await installation.succeed("schedule", "add", "tick", "noop", "-t", "tick", "--every", "1s")
        var generator = SeededGenerator(seed: 1)
        for round in 1...(Self.seconds / 3) {
            try await eventually("round \(round)") {
                try await instants(installation).count >= 3 * round
            }
            // One worker stays alive.
            let victim = Int.random(in: 1..<5, using: &generator)
            // The first worker, the likely timer owner, is swapped with another one.
            workers.swapAt(0, Int.random(in: 1..<5, using: &generator))
            workers[victim].send(SIGKILL)
            workers[victim] = try installation.worker(slots: 1)
        }
        try await installation.succeed("schedule", "pause", "tick")
        // Operations of a killed worker are delivered again, after later ones.
        try await eventually("each instant is there once") {
            let found = try await instants(installation)
            // If no worker checks for a minute, the latest instant is enqueued and the earlier ones are left out.
            let gaps = zip(found, found.dropFirst()).map { $1 - $0 }
            return !gaps.isEmpty && gaps.allSatisfy { $0 == 1000 || $0 >= 60_000 && $0 % 1000 == 0 }
        }
        #expect(try await instants(installation).count >= Self.seconds)
        for worker in workers { worker.send(SIGTERM) }
        for worker in workers { #expect(await worker.outcome().code == 0) }
    }

    /// Returns a field of `schedule show`.
    private func field(_ name: String, of id: String, _ installation: Installation) async throws -> String? {
        let text = try await installation.succeed("schedule", "show", id, "-o", "json")
        return try JSONValue(parsing: text)[name]?.stringValue
    }

    @Test("With keys, an unsigned schedule stops with the reason, and a signed one runs")
    func keys() async throws {
        let installation = try Installation()
        let keys = installation.folder.path("keys")
        try await installation.succeed("config", "keys", keys, "--encrypt", "--id", "k1")
        let worker = try installation.worker(slots: 1, more: "--keys-file", keys)
        try await installation.awaitWorkers(1)
        try await installation.succeed(
            "schedule",
            "add",
            "signed",
            "noop",
            "word=secret",
            "--every",
            "1s",
            "--keys-file",
            keys
        )
        try await installation.succeed("schedule", "add", "forged", "noop", "--every", "1s")
        try await eventually("the forged one is stopped") {
            try await field("state", of: "forged", installation) == "stopped"
        }
        let shown = try await installation.succeed("schedule", "show", "forged")
        #expect(shown.contains("it is not signed") && shown.contains("enqueued   0"), "\(shown)")
        try await eventually("the signed one has enqueued") {
            try await field("lastOperation", of: "signed", installation) != nil
        }
        let last = try #require(try await field("lastOperation", of: "signed", installation))
        try await installation.awaitState("finished", of: last)
        let refused = try await installation.sluice("schedule", "run", "forged", "--keys-file", keys)
        #expect(refused.code == 5 && refused.errors.contains("not signed"), "\(refused.errors)")
        worker.send(SIGTERM)
        #expect(await worker.outcome().code == 0)
    }
}
