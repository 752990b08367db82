import Foundation
import Testing

/// The scripts and their model get the same random calls, and must agree on every answer and on everything that they store.
///
/// `SLUICE_STEPS` and `SLUICE_SEED` choose how many steps and which.
@Suite struct RandomStepsTests {
    @Test("Random steps leave Redis and the model in the same state, with every operation in exactly one place")
    func randomSteps() async throws {
        let environment = ProcessInfo.processInfo.environment
        let steps = environment["SLUICE_STEPS"].flatMap { Int($0) } ?? 10_000
        let seed = environment["SLUICE_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 1...1_000_000)
        print("random steps: SLUICE_STEPS=\(steps) SLUICE_SEED=\(seed)")
        var run = try await TwinRun(seed: seed)
        for number in 1...steps {
            if let difference = try await run.step(number) {
                Issue.record("seed \(seed), step \(number): \(difference)\n\(run.recentSteps)")
                break
            }
        }
        run.close()
    }
}
