import Foundation
import Operations
import Testing

/// Random worlds in memory. Seeds are fixed; `SLUICE_WORLDS` chooses how many, and `SLUICE_SEED` the first one.
@Suite("Worlds in memory", .timeLimit(.minutes(60)))
struct WorldTests {
    private static let steps = 150
    private static let stepsToCalm = 10

    @Test("What explain says is so, whatever meets; in the end everything ends, and keys and places are free")
    func worlds() async throws {
        let worlds = Self.number("SLUICE_WORLDS") ?? 50
        let first = Self.number("SLUICE_SEED") ?? 1
        await withTaskGroup(of: Void.self) { group in
            for seed in first..<first + worlds { group.addTask { await Self.live(seed: UInt64(seed)) } }
        }
    }

    private static func number(_ variable: String) -> Int? {
        ProcessInfo.processInfo.environment[variable].flatMap { Int($0) }
    }

    private static func live(seed: UInt64) async {
        var world = World(seed: seed)
        do {
            for number in 1...steps {
                try await world.step()
                if number % stepsToCalm == 0 { try await world.calm() }
            }
            try await world.end()
        } catch {
            Issue.record("SLUICE_SEED=\(seed) SLUICE_WORLDS=1: \(error)\n\(world.log.joined(separator: "\n"))")
        }
    }
}
