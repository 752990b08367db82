import Foundation
import TestSupport
import Testing

@Suite("Stopping a worker", .fewAtOnce, .timeLimit(.minutes(60)))
struct StopTests {
    @Test(
        "SIGTERM lets operations end within the drain timeout and gives the rest back unchanged"
    )
    func drain() async throws {
        let installation = try Installation()
        let first = try installation.worker(slots: 2, more: "--drain-timeout", "30s")
        let short = try await installation.enqueue(["--"] + installation.ledger.program(gate: "short"))
        let long = try await installation.enqueue(["--"] + installation.ledger.program(gate: "long"))
        try await eventually("both run") { try installation.ledger.starts().count == 2 }
        first.send(SIGTERM)
        // The line "draining, up to …" comes earlier. After this one, nothing is claimed.
        try await eventually("it drains") { first.errors.contains("draining running=") }
        try installation.ledger.open("short")
        let waiting = try await installation.enqueue(["--"] + installation.ledger.program(seconds: 0))
        let end = await first.outcome()
        #expect(end.code == 0, "\(end.errors)")
        let deliveries = try await installation.recoverRest(of: first)
        #expect(try await installation.show(short).state == "finished")
        for id in [long, waiting] {
            let shown = try await installation.show(id)
            #expect(shown.state == "ready")
            #expect(shown.attempt == 0)
            #expect(deliveries.contains(shown.delivery), "\(shown)")
            #expect(shown.errors.isEmpty)
        }
        #expect(!isAlive(try installation.ledger.starts(of: long)[0].pid))
        let left = try await installation.succeed("workers", "ls", "-o", "id")
        expectUnlessSlow("the worker has given up its lease", left.isEmpty)

        let second = try installation.worker(slots: 2)
        try await eventually("another worker runs them") { try installation.ledger.starts(of: long).count == 2 }
        let starts = try installation.ledger.starts(of: long)
        #expect(starts.allSatisfy { $0.attempt == 1 && deliveries.contains($0.delivery) }, "\(starts)")
        try await installation.awaitState("finished", of: waiting)
        #expect(try await installation.sluice("cancel", long, "--wait=180s").code == 0)
        second.send(SIGTERM)
        #expect(await second.outcome().code == 0)
    }

    @Test(
        "Claimed operations that have not started go back: a worker stopped amid short ones leaves none behind"
    )
    func claimed() async throws {
        let installation = try Installation()
        let count = 20_000
        _ = try await installation.enqueue(batch: #"{"name":"noop","track":false}"#, count: count)
        let first = try installation.worker(slots: 20)
        try await eventually("it is at work") { try await installation.counts()["ready"] ?? count < count }
        first.send(SIGTERM)
        #expect(await first.outcome().code == 0)
        let deliveries = try await installation.recoverRest(of: first)
        let counts = try await installation.counts()
        #expect(counts["executing"] == 0)
        print("stopped with \(counts["ready"] ?? 0) of \(count) ready")
        #expect(try await installation.sluice("worker", "-c", "20", "--burst").code == 0)
        let totals = try await installation.totals()
        #expect(totals["finished"] == count)
        #expect(totals["recovered"] == 0 || deliveries.contains(2), "\(totals)")
        #expect(try await installation.counts()["dead"] == 0)
    }

    @Test(
        "A second SIGTERM ends the worker within two seconds and gives everything back",
        arguments: [true, false]
    )
    func twice(_ isDeaf: Bool) async throws {
        let installation = try Installation()
        let worker = try installation.worker()
        let script = isDeaf ? "trap '' TERM; echo $$ > $0; while :; do sleep 1; done" : "echo $$ > $0; sleep 600"
        let path = installation.folder.path("pid")
        let program = try await installation.enqueue("--", "sh", "-c", script, path)
        let asleep = try await installation.enqueue("sleep", "seconds:=600")
        try await installation.awaitStates("executing", of: [program, asleep])
        try await eventually("the program runs") { FileManager.default.fileExists(atPath: path) }
        worker.send(SIGTERM)
        try await eventually("it drains") { worker.errors.contains("draining") }
        let sent = ContinuousClock.now
        worker.send(SIGTERM)
        let end = await worker.outcome()
        expectPrompt("second SIGTERM", since: sent, promised: .seconds(2))
        #expect(end.code == 143, "\(end.errors)")
        let deliveries = try await installation.recoverRest(of: worker, since: sent)
        try await installation.awaitStates("ready", of: [program, asleep])
        for shown in try await installation.show([program, asleep]) {
            #expect(shown.attempt == 0)
            #expect(deliveries.contains(shown.delivery), "\(shown)")
        }
        let pid = try #require(
            Int32(try String(contentsOfFile: path, encoding: .utf8).trimmingCharacters(in: .newlines))
        )
        try await eventually("its program is gone") { !isAlive(pid) }
    }
}
