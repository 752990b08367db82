import Testing

@testable import SluiceCLI

@Suite(.timeLimit(.minutes(60)))
struct HealthTargetTests {
    @Test(
        "A number is a port on the loopback, an address with a port is that address, and any other text is a file",
        arguments: [
            ("8080", .port(host: "127.0.0.1", number: 8080)), ("0.0.0.0:80", .port(host: "0.0.0.0", number: 80)),
            ("[::1]:0", .port(host: "::1", number: 0)), ("localhost:9", .port(host: "localhost", number: 9)),
            ("./8080", .file(path: "./8080")), ("/run/w:1.json", .file(path: "/run/w:1.json")),
            ("health", .file(path: "health")),
        ] as [(String, HealthTarget)]
    )
    func read(text: String, target: HealthTarget) throws {
        #expect(try HealthTarget(parsing: text) == target)
    }

    @Test("Any other form is refused", arguments: ["", "70000", ":80", "host:", "host:x", "99999999999999999999"])
    func refuse(text: String) {
        let error = #expect(throws: CLIError.self) { try HealthTarget(parsing: text) }
        #expect(error?.status == .usage && error?.fix?.contains("--health 8080") == true)
    }
}
