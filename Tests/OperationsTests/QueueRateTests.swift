import Operations
import Testing

@Suite(.timeLimit(.minutes(60)))
struct QueueRateTests {
    @Test(
        "A rate is said with its period in the largest unit that divides it",
        arguments: [
            (QueueRate(100), "100/s (burst 100)"),
            (QueueRate(20, per: .seconds(60), burst: 5), "20/1m (burst 5)"),
            (QueueRate(1, per: .seconds(90)), "1/90s (burst 1)"),
            (QueueRate(2, per: .milliseconds(1500), burst: 1), "2/1500ms (burst 1)"),
            (QueueRate(7, per: .seconds(86_400)), "7/1d (burst 1)"),
        ]
    )
    func words(rate: QueueRate, text: String) {
        #expect(rate.words == text)
    }
}
