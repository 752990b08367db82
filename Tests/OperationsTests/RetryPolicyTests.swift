import Testing

@testable import Operations

@Suite("Attempts and pauses", .timeLimit(.minutes(60)))
struct RetryPolicyTests {
    @Test("Pauses double from the first to the longest, plus up to half as much at random")
    func doubles() {
        let policy = RetryPolicy(base: .seconds(2), ceiling: .seconds(60))
        #expect(
            (1...7).map { policy.delay(afterAttempt: $0, chance: 0) } == [2, 4, 8, 16, 32, 60, 60].map { .seconds($0) }
        )
        #expect(policy.delay(afterAttempt: 1, chance: 1) == .seconds(3))
        #expect(policy.delay(afterAttempt: 999, chance: 0) == .seconds(60))
    }

    @Test("Pauses and the run timeout of an envelope are limited to 100 years", arguments: [1, 2, 15, 999])
    func huge(attempt: Int) throws {
        let json =
            #"{"name":"n","backoff":9223372036854775807,"backoffMax":9223372036854775807,"timeout":9223372036854775807}"#
        let envelope = try OperationEnvelope(Array(json.utf8))
        let policy = envelope.retry.applied(to: RetryPolicy())
        let year = Int64(365 * 86_400_000)
        #expect(policy.delay(afterAttempt: attempt, chance: 1).wholeMilliseconds <= 150 * year + 1)
        #expect(envelope.runTimeout?.wholeMilliseconds == 100 * year)
    }

    @Test("An envelope stores only the retry options that the producer set, even if one equals the default")
    func overrides() throws {
        let silent = OperationEnvelope(name: "n")
        #expect(String(decoding: silent.encoded(), as: UTF8.self) == #"{"name":"n","args":{}}"#)
        let type = RetryPolicy(attempts: 2, base: .seconds(7))
        #expect(try OperationEnvelope(silent.encoded()).retry.applied(to: type) == type)
        let said = OperationEnvelope(name: "n", retry: RetryOverrides(attempts: SluiceDefaults.attempts))
        #expect(String(decoding: said.encoded(), as: UTF8.self) == #"{"name":"n","args":{},"attempts":5}"#)
        let read = try OperationEnvelope(said.encoded()).retry.applied(to: type)
        #expect(read == RetryPolicy(attempts: 5, base: .seconds(7)))
        #expect(RetryOverrides(type) == RetryOverrides(attempts: 2, base: .seconds(7)))
    }

    @Test("The attempts of an envelope are clamped to 1 to 999", arguments: [(0, 1), (5, 5), (1000, 999)])
    func bounds(written: Int, read: Int) throws {
        #expect(try OperationEnvelope(Array(#"{"name":"n","attempts":\#(written)}"#.utf8)).retry.attempts == read)
    }

    @Test("An error message is cut to 4 KiB between two characters and ends with a mark")
    func cutMessage() {
        let failure = OperationFailure(type: "t", message: String(repeating: "é", count: 5000), attempt: 1, delivery: 1)
        #expect(failure.message == String(repeating: "é", count: 2046) + "…")
        let odd = OperationFailure(
            type: "t",
            message: "x" + String(repeating: "é", count: 5000),
            attempt: 1,
            delivery: 1
        )
        #expect(odd.message == "x" + String(repeating: "é", count: 2046) + "…")
    }
}
