import Foundation
import Testing

@testable import RedisBroker

/// The scripts and their model get the same random calls, and must agree on every answer and on everything that they store.
///
/// `SLUICE_STEPS` chooses how many steps, divided among several runs with a seed each; `SLUICE_SEED` repeats the run of one seed.
@Suite(.timeLimit(.minutes(15)))
struct RandomStepsTests {
    private static let stepsOfRun = 2500
    private static let atOnce = 3

    @Test("Random steps leave Redis and the model in the same state, with every operation in exactly one place")
    func randomSteps() async throws {
        let environment = ProcessInfo.processInfo.environment
        let seed = environment["SLUICE_SEED"].flatMap { UInt64($0) }
        let steps = environment["SLUICE_STEPS"].flatMap { Int($0) } ?? (seed == nil ? 25_000 : Self.stepsOfRun)
        let runs = seed == nil ? max(1, steps / Self.stepsOfRun) : 1
        let first = seed ?? UInt64.random(in: 1...1_000_000)
        print("random steps: \(steps) in \(runs) runs, the first with SLUICE_SEED=\(first)")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<runs {
                if number >= Self.atOnce { try await group.next() }
                group.addTask { try await Self.run(seed: first + UInt64(number), steps: max(1, steps / runs)) }
            }
            try await group.waitForAll()
        }
    }

    #if DEBUG
        @Test("Scripts that break one rule are noticed", arguments: ScriptMutant.ofScripts)
        func noticed(mutant: ScriptMutant) async throws {
            for seed in 1...3 where try await Self.isNoticed(mutant, seed: UInt64(seed)) { return }
            Issue.record("\(mutant.rawValue) made no difference")
        }

        private static func isNoticed(_ mutant: ScriptMutant, seed: UInt64) async throws -> Bool {
            var run = try await TwinRun(seed: seed) { mutant.apply(to: $0) }
            defer { run.close() }
            for number in 1...10_000 where try await run.step(number) != nil { return true }
            return false
        }
    #endif

    private static func run(seed: UInt64, steps: Int) async throws {
        var run = try await TwinRun(seed: seed)
        defer { run.close() }
        for number in 1...steps {
            guard let difference = try await run.step(number) else { continue }
            Issue.record("SLUICE_SEED=\(seed) SLUICE_STEPS=\(steps), step \(number): \(difference)\n\(run.recentSteps)")
            return
        }
    }
}
