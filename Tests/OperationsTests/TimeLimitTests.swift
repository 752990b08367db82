import Foundation
import Testing

@testable import Operations

@Suite("Times and durations from outside", .timeLimit(.minutes(60)))
struct TimeLimitTests {
    /// More seconds than a 64-bit integer can hold
    static let endless: [Duration] = [.seconds(Int64.max), .seconds(Int64.max) + .seconds(Int64.max)]

    @Test("Only a duration of 0 to 100 years is allowed", arguments: endless)
    func bounds(endless: Duration) throws {
        try TimeLimit.check(nil, "the limit")
        try TimeLimit.check(.zero, "the limit", least: .zero)
        try TimeLimit.check(SluiceDefaults.longestDuration, "the limit")
        for duration in [endless, .zero - endless, .zero, SluiceDefaults.longestDuration + .nanoseconds(1)] {
            let error = #expect(throws: OperationsError.self) { try TimeLimit.check(duration, "the limit") }
            #expect(error?.code == .invalidOption)
            #expect(error?.message.hasPrefix("the limit is ") == true)
            #expect(error?.message.hasSuffix(": use more than zero, at most 100 years") == true)
        }
        #expect(throws: OperationsError.self) { try TimeLimit.check(.nanoseconds(-1), "the limit", least: .zero) }
    }

    @Test("Every duration converts to milliseconds and seconds", arguments: endless)
    func numbers(endless: Duration) {
        let year: Int64 = 365 * 86_400_000
        #expect(endless.wholeMilliseconds == 100 * year)
        #expect((.zero - endless).wholeMilliseconds == -100 * year)
        #expect(endless.inSeconds == 3_153_600_000)
        #expect(Duration.nanoseconds(1).wholeMilliseconds == 1)
    }

    @Test("A start is at most 100 years away", arguments: [Double.infinity, .nan, 1e300, 253_402_300_799_000])
    func starts(instant: Double) throws {
        let now: Int64 = 1_767_225_600_000
        #expect(throws: OperationsError.self) { try TimeLimit.delay(until: instant, now: now) }
        #expect(try TimeLimit.delay(until: Double(now + 5), now: now) == 5)
        #expect(try TimeLimit.delay(until: -.infinity, now: now) == 0)
        let longest = TimeLimit.milliseconds
        #expect(try TimeLimit.delay(until: Double(now + longest), now: now) == longest)
        #expect(throws: OperationsError.self) { try TimeLimit.delay(until: Double(now + longest + 1), now: now) }
    }

    @Test("An envelope with a duration out of range is refused before any number overflows", arguments: endless)
    func envelopes(endless: Duration) {
        let wrong: [OperationEnvelope] = [
            OperationEnvelope(name: "n", retry: RetryOverrides(base: endless)),
            OperationEnvelope(name: "n", retry: RetryOverrides(ceiling: endless)),
            OperationEnvelope(name: "n", retry: RetryOverrides(base: .seconds(-1))),
            OperationEnvelope(name: "n", runTimeout: endless),
            OperationEnvelope(name: "n", runTimeout: .zero),
            // Near the size limit, the envelope is encoded only to count its bytes.
            OperationEnvelope(name: "n", arguments: Array(repeating: 0x31, count: 1_040_000), runTimeout: endless),
        ]
        for envelope in wrong {
            let error = #expect(throws: OperationsError.self) { try envelope.validate() }
            #expect(error?.code == .invalidOption)
        }
    }

    @Test("A retry policy with unlimited durations still has a bounded pause", arguments: endless)
    func pauses(endless: Duration) {
        let policy = RetryPolicy(attempts: 999, base: endless, ceiling: endless)
        #expect(policy.delay(afterAttempt: 998, chance: 1) <= SluiceDefaults.longestDuration * 2)
        #expect(RetryPolicy(ceiling: .zero - endless).delay(afterAttempt: 3) == .zero)
    }

    @Test("A local operation with unlimited durations runs, waits and can be cancelled", arguments: endless)
    func local(endless: Duration) async throws {
        let queue = LocalOperationQueue()
        let limits = LocalOperationOptions(runTimeout: endless, grace: endless)
        #expect(try await queue.add(limits) { "good" }.value == "good")
        let waiting = LocalOperationOptions(retry: LocalRetry { _, _ in .retry(after: endless) })
        let flaky = queue.add(waiting) { throw CocoaError(.fileNoSuchFile) }
        while flaky.state != .retrying { await Task.yield() }
        flaky.cancel()
        _ = try await flaky.waitUntilFinished()
        #expect(flaky.state == .cancelled)
    }
}
