import Foundation
import TestSupport
import Testing

/// The first steps that a newcomer takes by hand
@Suite("First steps", .fewAtOnce, .timeLimit(.minutes(60)))
struct FirstStepsTests {
    private let program = ["--", "sh", "-c", "echo hi; exit 3"]

    @Test(
        "A program that exits with 3 is dead after one attempt: exit 1, the log has `hi`, the record the exit code"
    )
    func exitCode() async throws {
        let installation = try Installation()
        let worker = try installation.worker()
        let outcome = try await installation.sluice(
            "enqueue",
            "--attempts",
            "1",
            "--wait",
            "--",
            "sh",
            "-c",
            "echo hi; exit 3"
        )
        #expect(outcome.code == 1, "\(outcome.errors)")
        let id = outcome.output.trimmingCharacters(in: .whitespacesAndNewlines)
        #expect(try await installation.succeed("logs", id).contains("hi"))
        let shown = try await installation.show(id)
        #expect(shown.state == "dead")
        #expect(shown.attempt == 1)
        #expect(shown.errors.count == 1)
        #expect(shown.errors.first?.details?["exitCode"] == 3)
        worker.send(SIGTERM)
        #expect(await worker.outcome().code == 0)
    }

    @Test("With three attempts a program retries twice, then is dead with three errors")
    func retries() async throws {
        let installation = try Installation()
        // After a late heartbeat, a short lease costs an additional start.
        let worker = try installation.worker(lease: 60)
        let id = try await installation.enqueue("--attempts", "3", "--", "sh", "-c", "echo hi; exit 3")
        try await installation.awaitState("dead", of: id)
        let shown = try await installation.show(id)
        #expect(shown.errors.map(\.attempt) == [1, 2, 3])
        // The pauses are too short to observe, so the test checks the totals.
        let totals = try await installation.totals()
        #expect(totals["started"] == 3 && totals["retried"] == 2)
        #expect(shown.errors.allSatisfy { $0.details?["exitCode"] == 3 && $0.delivery == 1 })
        #expect(try await installation.succeed("logs", id).split(separator: "\n").count { $0.contains("hi") } == 3)
        worker.send(SIGTERM)
        #expect(await worker.outcome().code == 0)
    }

    @Test(
        "A program sees id, attempt, delivery, fence, queue and headers of its operation, and no worker secrets"
    )
    func environment() async throws {
        let installation = try Installation()
        var environment = installation.environment
        environment["SECRET_TOKEN"] = "hunter2"
        let worker = try Program("sluice", ["worker", "--allow", "exec", "-q", "mail"], environment: environment)
        let id = try await installation.enqueue("-q", "mail", "--header", "tenant=acme", "--", "env")
        try await installation.awaitState("finished", of: id)
        let log = try await installation.succeed("logs", id)
        let shown = try await installation.show(id)
        let fence = try #require(shown.fence)
        for line in [
            "SLUICE_OPERATION_ID=\(id)", "SLUICE_ATTEMPT=1", "SLUICE_DELIVERY=1", "SLUICE_FENCE=\(fence)",
            "SLUICE_QUEUE=mail", #"SLUICE_HEADERS={"tenant":"acme"}"#,
        ] {
            #expect(log.contains(line), "\(line) in \(log)")
        }
        #expect(!log.contains("hunter2"))
        #expect(!log.contains("SLUICE_REDIS_URL"))
        worker.send(SIGTERM)
        #expect(await worker.outcome().code == 0)
    }

    @Test("Without --allow exec no program runs: the operation stays ready and unhandled")
    func notAllowed() async throws {
        let installation = try Installation()
        let careful = try installation.start("worker")
        let id = try await installation.enqueue("--", "sh", "-c", "echo ran")
        try await installation.awaitUnhandled(id)
        let shown = try await installation.show(id)
        #expect(shown.state == "ready")
        #expect(shown.attempt == 0)
        #expect(shown.delivery == 1)
        #expect(try await installation.succeed("logs", id).isEmpty)
        careful.send(SIGTERM)
        #expect(await careful.outcome().code == 0)
    }

    @Test("While a program sleeps, its guard does not use the processor")
    func idle() async throws {
        let installation = try Installation()
        let worker = try installation.worker()
        let id = try await installation.enqueue(["--"] + installation.ledger.program(seconds: 3))
        try await eventually("it runs") { try !installation.ledger.starts().isEmpty }
        try await installation.awaitState("finished", of: id)
        try await eventually("the guard is gone") { try children(of: worker.identifier).isEmpty }
        let ticks = try childTicks(of: worker.identifier)
        print("a guard used \(ticks) hundredths of a second for a program of three seconds")
        #expect(ticks < 100)
        withExtendedLifetime(worker) {}
    }
}
