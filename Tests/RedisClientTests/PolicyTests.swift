import Testing

@testable import RedisClient

@Suite("The pause between attempts", .timeLimit(.minutes(60)))
struct PolicyTests {
    private func policy() -> ReconnectPolicy {
        ReconnectPolicy(minimum: .milliseconds(50), maximum: .seconds(2))
    }

    @Test("doubles from the minimum to the maximum, and half of it is random")
    func growth() {
        var longest = policy()
        var shortest = policy()
        let expected = [50, 100, 200, 400, 800, 1_600, 2_000, 2_000].map { Duration.milliseconds($0) }
        #expect(expected.map { _ in longest.nextPause(random: 1) } == expected)
        #expect(expected.map { _ in shortest.nextPause(random: 0) } == expected.map { $0 / 2 })
    }

    @Test("starts again at the minimum after a long connection, but not after one that ended at once")
    func reset() {
        var policy = policy()
        for _ in 0..<3 { _ = policy.nextPause(random: 1) }
        policy.connectionEnded(afterLiving: .milliseconds(100))
        #expect(policy.nextPause(random: 1) == .milliseconds(400))
        policy.connectionEnded(afterLiving: .seconds(2))
        #expect(policy.nextPause(random: 1) == .milliseconds(50))
    }

    @Test("stays short if each connection outlives the pause before it, and grows otherwise")
    func flapping() {
        var useful = policy()
        var useless = policy()
        var pauses: [Duration] = []
        for _ in 0..<5 {
            #expect(useful.nextPause(random: 1) == .milliseconds(50))
            useful.connectionEnded(afterLiving: .milliseconds(400))
            pauses.append(useless.nextPause(random: 1))
            useless.connectionEnded(afterLiving: .milliseconds(90))
        }
        #expect(pauses == [50, 100, 200, 400, 800].map { .milliseconds($0) })
    }

    @Test("stays within its bounds forever")
    func endless() {
        var policy = policy()
        for _ in 0..<10_000 { #expect(policy.nextPause(random: 1) <= .seconds(2)) }
    }
}
