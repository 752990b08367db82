import Operations

/// The rules that every broker keeps, one check each: the protocol, and of its invariants those that show at this level.
///
/// A test target runs them all over its broker:
/// ```swift
/// @Test("The broker keeps the rule", arguments: BrokerConformance.all)
/// func conformance(_ check: ConformanceCheck) async throws { try await check.run(on: bench) }
/// ```
package enum BrokerConformance {
    package static let all: [ConformanceCheck] =
        enqueueing + claiming + bounding + ordering + settling + repeating + staleWrites + leasing + sweeping
        + rememberingLosses
        + abandoning + reusing
        + cancelling
        + limiting + rating + sharing + keyRating + uniqueness + dependencies + changedDependencies + remoteDependencies
        + grouping + children + expiring
        + runningAgain + remembering + scheduling
        + settingAside + cancellingQueues + standing + operating + holding + editing + ending + reading + walking
        + waiting
        + announcing
        + losing
        + steering
        + keepingFigures
}

/// One rule, and how to see whether a broker keeps it.
package struct ConformanceCheck: Sendable, CustomStringConvertible {
    /// The rule as a sentence.
    package let description: String
    private let body: @Sendable (BrokerBench) async throws -> Void

    init(_ rule: String, _ body: @escaping @Sendable (BrokerBench) async throws -> Void) {
        description = rule
        self.body = body
    }

    /// - Parameter bench: a broker that nobody else uses.
    /// - Throws: `ConformanceViolation` if the rule is broken.
    package func run(on bench: BrokerBench) async throws { try await body(bench) }
}

/// A broken rule: what was expected, what came, where.
package struct ConformanceViolation: Error, CustomStringConvertible {
    package let description: String
}
