import Testing

@testable import RedisClient

@Suite("The vote of the sentinels", .timeLimit(.minutes(60)))
struct SentinelVoteTests {
    private let old = SentinelVote.Host("a", port: 1)
    private let new = SentinelVote.Host("b", port: 1)

    @Test("ranks a master by the number of sentinels that name it, in any order")
    func votes() {
        var vote = SentinelVote(sentinelCount: 3)
        #expect(vote.ranking.isEmpty && vote.majority == nil)
        vote.add(old, epoch: 0)
        #expect(vote.ranking == [old] && vote.majority == nil)
        vote.add(new, epoch: 0)
        #expect(vote.ranking == [old, new] && !vote.isComplete)
        vote.add(new, epoch: 0)
        #expect(vote.ranking == [new, old] && vote.majority == new && vote.isComplete)
    }

    @Test("ranks a later failover's epoch first, but a single voice is no majority")
    func epochs() {
        var vote = SentinelVote(sentinelCount: 3)
        for _ in 0..<2 { vote.add(old, epoch: 3) }
        #expect(vote.majority == old)
        vote.add(new, epoch: 4)
        #expect(vote.ranking == [new, old] && vote.majority == nil)
    }

    @Test("has no majority if most sentinels do not answer")
    func silent() {
        var vote = SentinelVote(sentinelCount: 5)
        for _ in 0..<3 { vote.addNothing() }
        for _ in 0..<2 { vote.add(old, epoch: 1) }
        #expect(vote.isComplete && vote.ranking == [old] && vote.majority == nil)
    }
}
