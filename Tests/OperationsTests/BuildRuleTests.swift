import Operations
import Testing

@Suite("The build that a worker reports", .timeLimit(.minutes(60)))
struct BuildRuleTests {
    @Test(
        "A build is a short printable text",
        arguments: ["1", "2026.11.3", "shop 4 (a1b2c3)", "<b>&amp;", "naïve-✓", String(repeating: "x", count: 64)]
    )
    func allowed(build: String) { #expect(BuildRule.allows(build)) }

    @Test(
        "A build that is empty, too long, or has a blank at an end or a character that is not printable is refused",
        arguments: [
            "", " ", " 1", "1 ", "a\nb", "\u{1b}[31mred", "a\u{202e}b", "a\u{0}b",
            String(repeating: "x", count: 65), String(repeating: "x", count: 10_240),
            "e" + String(repeating: "\u{301}", count: 64),
        ]
    )
    func refused(build: String) {
        #expect(!BuildRule.allows(build))
        let error = #expect(throws: OperationsError.self) { try BuildRule.check(build) }
        let info = WorkerInfo(
            host: "h",
            pid: 1,
            name: "w",
            slots: 1,
            queues: [],
            handles: [],
            version: "1",
            build: build,
            startedAt: 0
        )
        #expect(WorkerInfo(info.encoded())?.build == nil)
        #expect(error?.code == .invalidOption && (error?.message.count ?? .max) < 300)
    }
}
