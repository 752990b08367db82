import Operations

/// The rules that every broker keeps, with one check for each.
///
/// The checks cover the protocol and the invariants that are visible at this level. A test target runs them all:
/// ```swift
/// @Test("The broker keeps the rule", arguments: BrokerConformance.all)
/// func conformance(_ check: ConformanceCheck) async throws { try await check.run(on: bench) }
/// ```
package enum BrokerConformance {
    package static let all: [ConformanceCheck] =
        enqueueing + claiming + bounding + ordering + settling + repeating + staleWrites + leasing + sweeping
        + rememberingLosses
        + recovering + reusing
        + cancelling
        + limiting + rating + sharing + keyRating + uniqueness + dependencies + changedDependencies + remoteDependencies
        + grouping + children + expiring
        + runningAgain + remembering + scheduling
        + settingAside + cancellingQueues + standing + operating + holding + editing + ending + reading + walking
        + changeKinds
        + storingChanges
        + waiting
        + announcing
        + losing
        + workerControl
        + keepingStatistics
        + keepingBuilds
}

/// One rule, with the check that a broker keeps it.
package struct ConformanceCheck: Sendable, CustomStringConvertible {
    /// The rule as a sentence.
    package let description: String
    private let body: @Sendable (BrokerBench) async throws -> Void

    init(_ rule: String, _ body: @escaping @Sendable (BrokerBench) async throws -> Void) {
        description = rule
        self.body = body
    }

    /// Checks the rule.
    ///
    /// - Parameter bench: a broker that nothing else uses.
    /// - Throws: `ConformanceViolation` if the rule is broken.
    package func run(on bench: BrokerBench) async throws { try await body(bench) }
}

/// A broken rule: the expected value, the actual value and the place of the check.
package struct ConformanceViolation: Error, CustomStringConvertible {
    package let description: String
}
