import Foundation
import TestSupport
import Testing

@Suite("Lost workers", .fewAtOnce, .timeLimit(.minutes(60)))
struct LostWorkerTests {
    @Test(
        "After `kill -9` others run what the worker held, as delivery 2 of the same attempt, and no child is left"
    )
    func killed() async throws {
        let installation = try Installation()
        // The lease is so long that no heartbeat of the first worker comes too late while it lives.
        let lease = 12
        let first = try installation.worker(slots: 5, lease: lease)
        var ids: [String] = []
        for _ in 0..<4 { ids.append(try await installation.enqueue(["--"] + installation.ledger.program(gate: "all"))) }
        let family = ProgramFamily(installation)
        let parent = try await installation.enqueue(family.enqueueArguments)
        try await eventually("five run") { try installation.ledger.starts().count == 4 && family.members().count == 3 }
        let second = try installation.worker(slots: 5, lease: lease)
        try await installation.awaitWorkers(2)
        let pids = try installation.ledger.starts().map(\.pid) + family.members().map(\.pid)

        let killedAt = Date().timeIntervalSince1970
        first.send(SIGKILL)
        #expect(await first.outcome().code == 128 + SIGKILL)
        try await eventually("no child is left") { !pids.contains(where: isAlive) }
        #expect(try installation.ledger.ends().isEmpty)

        try await eventually("all run again") {
            try installation.ledger.starts().count { $0.delivery == 2 } == 4
        }
        try installation.ledger.open("all")
        try await installation.awaitStates("finished", of: ids)
        let again = try installation.ledger.starts().filter { $0.delivery == 2 }
        let latest = Double(again.map(\.at).max() ?? 0) / 1000 - killedAt
        // A lease, one heartbeat, one second
        let promised = Duration.seconds(lease + lease / 3 + 1)
        expectPrompt("kill -9: everything runs again", took: .seconds(latest), promised: promised)
        for id in ids {
            let starts = try installation.ledger.starts(of: id)
            try #require(starts.map(\.delivery) == [1, 2])
            #expect(starts.allSatisfy { $0.attempt == 1 })
            #expect(starts[0].fence < starts[1].fence)
            #expect(try installation.ledger.ends(of: id).map(\.fence) == [starts[1].fence])
            let shown = try await installation.show(id)
            #expect(shown.delivery == 2)
            #expect(shown.attempt == 1)
            #expect(shown.errors.isEmpty)
            #expect(shown.fence == starts[1].fence)
        }
        try await eventually("the family runs again") { try family.members().count { $0.delivery == 2 } == 3 }
        #expect(try await installation.sluice("cancel", parent, "--wait=180s").code == 0)
        let counts = try await installation.counts()
        #expect(counts["finished"] == 4)
        #expect(counts["executing"] == 0 && counts["ready"] == 0 && counts["dead"] == 0)
        second.send(SIGTERM)
        #expect(await second.outcome().code == 0)
    }

    @Test("An operation that kills every worker is dead after the third, with the reason; others finish")
    func poison() async throws {
        let installation = try Installation()
        let good = try await installation.enqueue("noop", "--in", "1s")
        // Kills the process above the guard, which is the worker.
        let kill = "read -r _ _ _ guard _ < /proc/$$/stat; read -r _ _ _ worker _ < /proc/$guard/stat; kill -9 $worker"
        let poison = try await installation.enqueue("--", "sh", "-c", kill)
        // With a shorter lease, a late heartbeat may cost a delivery although the worker lives.
        let lease = 12
        let observer = try installation.start(
            "worker",
            "--lease",
            "\(lease)s",
            "-q",
            "default",
            "--name",
            "careful",
            "--allow",
            "exec"
        )
        var workers = [observer]
        for _ in 0..<3 { workers.append(try installation.worker(slots: 1, lease: lease)) }
        try await installation.awaitState("dead", of: poison)
        let shown = try await installation.show(poison)
        #expect(shown.errors.count == 1)
        #expect(shown.errors.first?.type == "lost")
        #expect(shown.attempt == 1)
        try await eventually("three have ended") { workers.count { $0.hasEnded } == 3 }
        try await installation.awaitState("finished", of: good)
    }

    @Test(
        "A worker stopped for longer than its lease is refused when it continues, and nothing is stored twice"
    )
    func stopped() async throws {
        let installation = try Installation()
        let first = try installation.worker(slots: 3)
        let short = try await installation.enqueue(["--"] + installation.ledger.program(gate: "short"))
        let long = try await installation.enqueue(["--"] + installation.ledger.program(gate: "long"))
        let asleep = try await installation.enqueue("sleep", "seconds:=600")
        try await eventually("all run") {
            let states = try await installation.show([short, long, asleep]).map(\.state)
            return try installation.ledger.starts().count == 2 && states.allSatisfy { $0 == "executing" }
        }
        first.send(SIGSTOP)
        // The lease of the second worker does not lapse.
        let second = try installation.worker(slots: 3, lease: 60)
        try await eventually("the others run what it held") {
            let shown = try await installation.show(asleep)
            return try installation.ledger.starts().count { $0.delivery == 2 } == 2
                && shown.state == "executing" && shown.delivery == 2
        }
        // Both programs of the short operation end now. The stopped worker does not see that yet.
        try installation.ledger.open("short")
        try await eventually("both programs of the short one ended") {
            try installation.ledger.ends(of: short).count == 2
        }
        first.send(SIGCONT)
        try await eventually("its log says so") { first.errors.contains("no longer owns the operation") }
        // The first program of the long operation is ended when its worker learns of the loss.
        let lost = try installation.ledger.starts(of: long)[0].pid
        try await eventually("the first program of the long one is gone") { !isAlive(lost) }
        try installation.ledger.open("long")
        try await installation.awaitStates("finished", of: [short, long])
        try await installation.succeed("cancel", asleep, "--wait=180s")
        for shown in try await installation.show([short, long, asleep]) {
            #expect(shown.delivery == 2)
            #expect(shown.attempt == 1)
            #expect(shown.errors.isEmpty)
        }
        #expect(try installation.ledger.ends(of: long).map(\.delivery) == [2])
        #expect(try installation.ledger.starts(of: long).map(\.delivery) == [1, 2])
        #expect(try await installation.counts()["finished"] == 2)
        #expect(try await installation.totals()["finished"] == 2)
        // The first worker works as usual again.
        second.send(SIGTERM)
        #expect(await second.outcome().code == 0)
        let next = try await installation.enqueue("noop")
        try await installation.awaitState("finished", of: next)
        first.send(SIGTERM)
        #expect(await first.outcome().code == 0)
    }
}
