import Foundation
import Operations
import Testing

/// Random worlds in memory. Seeds are fixed; `SLUICE_WORLDS` sets the number of worlds, and `SLUICE_SEED` the first
/// seed.
@Suite("Worlds in memory", .timeLimit(.minutes(60)))
struct WorldTests {
    private static let steps = 150
    private static let stepsToCalm = 10

    @Test("After random steps explain is right, and in the end all operations have ended and no key is taken")
    func worlds() async throws {
        let worlds = Self.number("SLUICE_WORLDS") ?? 50
        let first = Self.number("SLUICE_SEED") ?? 1
        let tally = await withTaskGroup(of: [String: Int].self) { group in
            for seed in first..<first + worlds { group.addTask { await Self.live(seed: UInt64(seed)) } }
            return await group.reduce(into: [:]) { $0.merge($1, uniquingKeysWith: +) }
        }
        print(
            "worlds: \(worlds); \(tally.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", "))"
        )
        // Worlds without events would pass as well, so a minimum of events is required.
        guard worlds >= 50 else { return }
        #expect(tally["start", default: 0] > 50 * worlds)
        #expect(tally["taken", default: 0] > 4 * tally["refused", default: 0])
        for code in Self.reasons { #expect(tally[code, default: 0] > 0, "no operation has had this reason: \(code)") }
    }

    /// The reasons that each occur in 50 worlds.
    private static let reasons = [
        "held", "needs", "keyTaken", "notDue", "snoozed", "retryDelay", "paused", "limited", "rateReached",
        "keyLimited",
        "keyRateReached", "keyTurn", "workersQuiet", "groupOpen", "members", "executing", "cancelling", "workerSilent",
        "overdue",
        "backlog", "standingCancel",
    ]

    private static func number(_ variable: String) -> Int? {
        ProcessInfo.processInfo.environment[variable].flatMap { Int($0) }
    }

    private static func live(seed: UInt64) async -> [String: Int] {
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
        return world.tally
    }
}
