import Testing

@testable import SluiceCLI
@testable import SluiceOperator

@Suite("Vulnerabilities of servers", .timeLimit(.minutes(60)))
struct KnownFaultTests {
    @Test(
        "doctor names the vulnerabilities of a version unless they are fixed",
        arguments: [
            ("6.2.19", ["CVE-2025-49844"]), ("6.2.20", []), ("7.0.15", ["CVE-2025-49844"]),
            ("7.2.13", ["CVE-2026-23479"]), ("7.2.14", []), ("7.4.5", ["CVE-2025-49844", "CVE-2026-23479"]),
            ("7.4.9", []), ("8.0.5", ["CVE-2026-23479"]), ("8.2.6", ["CVE-2026-81934"]), ("8.2.9", []),
            ("8.6.2", ["CVE-2026-23479", "CVE-2026-81934"]), ("8.10.0", ["CVE-2026-81934"]), ("8.10.1", []),
        ]
    )
    func named(version: String, faults: [String]) throws {
        let version = try #require(ServerVersion(version))
        #expect(KnownFault.all.filter { $0.concerns(version) }.map(\.name) == faults)
    }
}
