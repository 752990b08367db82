import Testing

@testable import SluiceWorker

@Suite("The worker's check of Redis servers", .timeLimit(.minutes(60)))
struct ServerCheckTests {
    @Test(
        "A server that could evict gets a warning, one that does evict is a danger, and an old one is refused",
        arguments: [
            ("7.0.15", "noeviction", 0, ""), ("7.0.15", "noeviction", 1000, ""), ("8.0.1", "allkeys-lru", 0, "warning"),
            ("8.0.1", "allkeys-lru", 1000, "warning danger"), ("6.2.0", "volatile-ttl", 1, "warning danger"),
            ("6.0.16", "noeviction", 0, "refusal"), ("5.0.3", "", 0, "refusal"), ("", "", 0, ""),
        ]
    )
    func server(version: String, policy: String, limit: Int, verdict: String) {
        let check = ServerCheck(
            info: "# Server\r\nredis_version:\(version)\r\n\r\nmaxmemory:\(limit)\r\nmaxmemory_policy:\(policy)\r\n"
        )
        let found = [("warning", check.warning), ("danger", check.danger), ("refusal", check.refusal)]
        #expect(found.compactMap { $0.1 == nil ? nil : $0.0 }.joined(separator: " ") == verdict)
    }
}
