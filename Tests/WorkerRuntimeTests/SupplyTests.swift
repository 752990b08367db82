import Operations
import Testing

@testable import WorkerRuntime

@Suite("A worker's knowledge of the work in a queue", .timeLimit(.minutes(60)))
struct SupplyTests {
    private let now = ContinuousClock.now

    private func supply(after claims: Claim..., expectsMore: Bool = false) -> Supply {
        var supply = Supply()
        for claim in claims { supply.learn(claim, wokenMeanwhile: false, expectsMore: expectsMore, now) }
        return supply
    }

    @Test("A queue may have ready operations until a claim finds no more")
    func claims() {
        #expect(Supply().state == .ready)
        #expect(supply(after: Claim(status: .ok)).state == .quiet)
        #expect(supply(after: Claim(status: .ok, more: true)).state == .ready)
        #expect(supply(after: Claim(status: .ok, nextDueMilliseconds: 0)).state == .ready)
        #expect(supply(after: Claim(status: .ok), expectsMore: true).state == .ready)
        #expect(supply(after: Claim(status: .staleEpoch)).state == .ready)
    }

    @Test("A queue counts as paused until an answer says otherwise")
    func pauses() {
        let paused = Claim(status: .paused)
        #expect(supply(after: paused, expectsMore: true).state == .paused)
        #expect(supply(after: paused, Claim(status: .noLease)).state == .quiet)
        #expect(supply(after: paused, Claim(status: .ok, more: true)).state == .ready)
        #expect(supply(after: Claim(status: .noLease)).state == .ready)
        #expect(supply(after: Claim(status: .ok), Claim(status: .noLease)).state == .quiet)
    }

    @Test("A queue counts as limited until a token, a due time or a heartbeat says otherwise")
    func limits() {
        let limited = Claim(status: .limited)
        #expect(supply(after: limited, expectsMore: true).state == .limited)
        #expect(supply(after: Claim(status: .limited, nextDueMilliseconds: 0)).state == .ready)
        var supply = supply(after: limited)
        supply.learn(Room(left: 0, ahead: 0))
        #expect(supply.state == .limited)
        supply.learn(Room(left: 1, ahead: 0))
        #expect(supply.state == .ready)
        // The token was taken after the claim was sent: the answer may be older.
        supply.learn(limited, wokenMeanwhile: true, expectsMore: false, now)
        #expect(supply.state == .ready)
        supply.learn(limited, wokenMeanwhile: false, expectsMore: false, now)
        supply.learn(nil)
        #expect(supply.state == .ready)
    }

    @Test("A wake-up token or a due time makes the queue ready")
    func wakes() {
        var supply = supply(after: Claim(status: .ok, nextDueMilliseconds: 50))
        #expect(supply.nextDue == now + .milliseconds(50))
        supply.promote(now + .milliseconds(49))
        #expect(supply.state == .quiet)
        supply.promote(now + .milliseconds(50))
        #expect(supply.state == .ready && supply.nextDue == nil && supply.wakes == 0)
        supply = self.supply(after: Claim(status: .paused))
        supply.wake()
        #expect(supply.state == .ready && supply.wakes == 1)
    }

    @Test("If the order of two answers is unknown, the ready state and the earlier due time stay")
    func oneOfSeveral() {
        var supply = supply(after: Claim(status: .ok, more: true, nextDueMilliseconds: 50))
        supply.learnOneOfSeveral(Claim(status: .ok, nextDueMilliseconds: 70), now)
        #expect(
            supply.state == .ready && supply.nextDue == now + .milliseconds(50) && supply.wakes == 0
        )
        supply.learnOneOfSeveral(Claim(status: .ok, nextDueMilliseconds: 0), now)
        #expect(supply.nextDue == now && supply.wakes == 1)
    }
}
