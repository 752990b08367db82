import Foundation
import TestSupport
import Testing

@Suite("Hostile text", .fewAtOnce, .timeLimit(.minutes(60)))
struct HostileTextTests {
    @Test(
        "Every command and the worker show escape sequences in arguments, errors, logs and reasons as text"
    )
    func shown() async throws {
        let installation = try Installation()
        let text = HostileText.all
        let worker = try installation.worker()
        let arguments = try String(decoding: JSONEncoder().encode(["message": text]), as: UTF8.self)
        let dead = try await installation.enqueue("fail", "--args", arguments, "--attempts", "1")
        let logged = try await installation.enqueue("--", "printf", "%s\\n", text)
        let unknown = try await installation.enqueue("no.such", "--args", arguments)
        let cancelled = try await installation.enqueue("sleep", "seconds:=600")
        try await installation.awaitState("executing", of: cancelled)
        try await installation.succeed("cancel", cancelled, "--reason", text, "--wait=180s")
        try await installation.awaitState("dead", of: dead)
        try await installation.awaitState("finished", of: logged)
        try await installation.awaitUnhandled(unknown)

        let commands = [
            ["list"], ["list", "-o", "wide"], ["list", "-o", "csv"], ["list", "-o", "json"], ["stats"],
            ["workers", "ls"],
            ["show", dead], ["show", cancelled], ["show", logged], ["show", dead, "-o", "json"], ["wait", dead],
            ["wait", cancelled], ["cancel", dead], ["result", dead], ["queue", "ls"], ["retry", dead],
            ["rm", cancelled],
        ]
        for command in commands {
            let outcome = try await Program.run("sluice", command, environment: installation.environment)
            expectSafe(outcome.output, tabs: true)
            expectSafe(outcome.errors)
        }
        let log = try await installation.succeed("logs", logged)
        #expect(log.contains(#"\x1b"#))
        expectSafe(log, tabs: true)
        worker.send(SIGTERM)
        let end = await worker.outcome()
        #expect(end.errors.contains("failed for good"))
        expectSafe(end.errors)
        expectSafe(end.output)
    }

    @Test("A worker's JSON log has one object per line, whatever operations write")
    func workerLog() async throws {
        let installation = try Installation()
        let worker = try installation.worker(more: "--log-format", "json")
        let arguments = try String(
            decoding: JSONEncoder().encode(["message": HostileText.all + "\nforged"]),
            as: UTF8.self
        )
        let dead = try await installation.enqueue("fail", "--args", arguments, "--attempts", "1")
        try await installation.awaitState("dead", of: dead)
        worker.send(SIGTERM)
        let end = await worker.outcome()
        expectSafe(end.errors)
        for line in end.errors.split(separator: "\n") {
            #expect(throws: Never.self) { try JSONSerialization.jsonObject(with: Data(line.utf8)) }
        }
    }
}
