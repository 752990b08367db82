import Foundation
import Testing

@testable import Operations

@Suite("Times and durations from outside", .timeLimit(.minutes(60)))
struct TimeLimitTests {
    /// More seconds than an integer of 64 bits holds.
    static let endless: [Duration] = [.seconds(Int64.max), .seconds(Int64.max) + .seconds(Int64.max)]

    @Test("A duration of 0 to 100 years is allowed, and no other", arguments: endless)
    func bounds(endless: Duration) throws {
        try TimeLimit.check(nil, "the limit")
        try TimeLimit.check(.zero, "the limit", least: .zero)
        try TimeLimit.check(Defaults.longestDuration, "the limit")
        for duration in [endless, .zero - endless, .zero, Defaults.longestDuration + .nanoseconds(1)] {
            let error = #expect(throws: OperationsError.self) { try TimeLimit.check(duration, "the limit") }
            #expect(error?.code == .invalidOption)
            #expect(error?.message.hasPrefix("the limit is ") == true)
            #expect(error?.message.hasSuffix(": use more than zero, at most 100 years") == true)
        }
        #expect(throws: OperationsError.self) { try TimeLimit.check(.nanoseconds(-1), "the limit", least: .zero) }
    }

    @Test("Every duration has a number of milliseconds and of seconds", arguments: endless)
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

    @Test("An envelope is refused before anything overflows in it", arguments: endless)
    func envelopes(endless: Duration) {
        let wrong: [OperationEnvelope] = [
            OperationEnvelope(name: "n", retry: RetryOverrides(base: endless)),
            OperationEnvelope(name: "n", retry: RetryOverrides(ceiling: endless)),
            OperationEnvelope(name: "n", retry: RetryOverrides(base: .seconds(-1))),
            OperationEnvelope(name: "n", runTimeout: endless),
            OperationEnvelope(name: "n", runTimeout: .zero),
            // Near the limit of its size it is encoded just to be counted.
            OperationEnvelope(name: "n", arguments: Array(repeating: 0x31, count: 1_040_000), runTimeout: endless),
        ]
        for envelope in wrong {
            let error = #expect(throws: OperationsError.self) { try envelope.validate() }
            #expect(error?.code == .invalidOption)
        }
    }

    @Test("A retry policy without bounds has a pause", arguments: endless)
    func pauses(endless: Duration) {
        let policy = RetryPolicy(attempts: 999, base: endless, ceiling: endless)
        #expect(policy.delay(afterAttempt: 998, chance: 1) <= Defaults.longestDuration * 2)
        #expect(RetryPolicy(ceiling: .zero - endless).delay(afterAttempt: 3) == .zero)
    }

    @Test("A local operation with limits and pauses without bounds runs, waits and is cancelled", arguments: endless)
    func local(endless: Duration) async throws {
        let queue = LocalOperationQueue()
        let limits = LocalOperationOptions(runTimeout: endless, grace: endless)
        #expect(try await queue.add(limits) { "good" }.value == "good")
        let waiting = LocalOperationOptions(retry: LocalRetry { _, _ in .after(endless) })
        let flaky = queue.add(waiting) { throw CocoaError(.fileNoSuchFile) }
        while flaky.state != .retrying { await Task.yield() }
        flaky.cancel()
        _ = try await flaky.waitUntilFinished()
        #expect(flaky.state == .cancelled)
    }
}
