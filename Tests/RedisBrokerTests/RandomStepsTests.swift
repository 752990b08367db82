import Foundation
import TestSupport
import Testing

@testable import RedisBroker

/// Scripts and model get the same random calls, and must agree on every answer and on everything that they store.
///
/// Seeds are fixed, so each run of the tests takes the same steps. `SLUICE_STEPS` sets the number of steps, which
/// several runs share. `SLUICE_SEED` sets the first seed.
@Suite(.timeLimit(.minutes(60)))
struct RandomStepsTests {
    private static let stepsOfRun = 1000
    private static let atOnce = 3

    @Test("Random steps leave Redis and the model in the same state, with every operation in exactly one place")
    func randomSteps() async throws {
        let steps = Self.number("SLUICE_STEPS") ?? 4 * Self.stepsOfRun
        let first = Self.number("SLUICE_SEED") ?? 1
        let runs = max(1, steps / Self.stepsOfRun)
        print("random steps: \(steps) in \(runs) runs, the first with SLUICE_SEED=\(first)")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<runs {
                if number >= Self.atOnce { try await group.next() }
                group.addTask { try await Self.run(seed: UInt64(first + number), steps: max(1, steps / runs)) }
            }
            try await group.waitForAll()
        }
    }

    private static func number(_ variable: String) -> Int? {
        ProcessInfo.processInfo.environment[variable].flatMap { Int($0) }
    }

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

#if DEBUG
    extension RandomStepsTests {
        /// Many short runs, because most broken rules show after a few steps or need another beginning. Then a few long
        /// runs for rare cases.
        private static let runs: [(seeds: ClosedRange<UInt64>, steps: Int)] = [(1...30, 500), (1...5, 10_000)]

        // All mutants take minutes. The short run has one mutant, to show that broken rules are noticed.
        @Test(
            "Scripts that break one rule are noticed",
            arguments: LongTests.areOn ? ScriptMutant.ofScripts : [.noPlaces]
        )
        func noticed(mutant: ScriptMutant) async throws {
            for (seeds, steps) in Self.runs {
                for seed in seeds {
                    guard let step = try await Self.firstDifference(mutant, seed: seed, steps: steps) else { continue }
                    print("without \(mutant.rawValue): seed \(seed), step \(step)")
                    return
                }
            }
            Issue.record("\(mutant.rawValue) made no difference")
        }

        private static func firstDifference(_ mutant: ScriptMutant, seed: UInt64, steps: Int) async throws -> Int? {
            var run = try await TwinRun(seed: seed) { mutant.apply(to: $0) }
            defer { run.close() }
            for number in 1...steps where try await run.step(number) != nil { return number }
            return nil
        }
    }
#endif
