import Foundation
import TestSupport
import Testing

@Suite("When operations start", .fewAtOnce, .timeLimit(.minutes(60)))
struct TimingTests {
    @Test(
        "A delayed operation starts on time on an idle worker, never sooner, and an earlier time starts first"
    )
    func delayed() async throws {
        let installation = try Installation()
        let worker = try installation.worker()
        try await installation.awaitWorkers(1)
        // All in one call, because separate commands may take longer than the times differ. The first operation is not
        // due before the end of the test.
        let lines = ["30m", "2s", "2500ms", "3s"].map { #"{"name":"sleep","args":{"seconds":0},"in":"\#($0)"}"# }
        let input = lines.joined(separator: "\n")
        let printed = try await installation.succeed("enqueue", "--batch", "-", "-o", "id", "--quiet", input: input)
        let all = printed.split(whereSeparator: \.isNewline).map(String.init)
        try #require(all.count == lines.count)
        let (late, ids) = (all[0], Array(all[1...]))
        try await installation.awaitStates("finished", of: ids)
        let shown = try await installation.show(ids)
        let starts = try shown.map { try milliseconds($0.startedAt) }
        let delays = try zip(starts, shown).map { try $0 - milliseconds($1.dueAt) }
        for delay in delays {
            #expect(delay >= 0)
            expectPrompt("start of a delayed operation", took: .milliseconds(delay), promised: .seconds(1))
        }
        let dues = try shown.map { try milliseconds($0.dueAt) }
        #expect(try await installation.show(late).state == "scheduled")
        #expect(zip(dues, starts).sorted { $0.0 < $1.0 }.map(\.1) == starts.sorted())
        withExtendedLifetime(worker) {}
    }

    @Test("Operations in a paused queue wait, and start at once after the resume")
    func resumed() async throws {
        let installation = try Installation()
        let worker = try installation.worker()
        try await installation.awaitWorkers(1)
        try await installation.succeed("queue", "pause", "default")
        let waiting = try await installation.enqueue(["--"] + installation.ledger.program(seconds: 0))
        // A marker in another queue shows that a worker had time to start the operation.
        let other = try installation.start("worker", "-q", "other")
        let marker = try await installation.enqueue("noop", "-q", "other", "--in", "1s")
        try await installation.awaitState("finished", of: marker)
        #expect(try await installation.show(waiting).state == "ready")
        #expect(try installation.ledger.lines().isEmpty)
        try await installation.succeed("queue", "resume", "default")
        let resumed = Date().timeIntervalSince1970 * 1000
        try await installation.awaitState("finished", of: waiting)
        let time = Double(try milliseconds(try await installation.show(waiting).startedAt)) - resumed
        expectPrompt("start after `queue resume`", took: .milliseconds(time), promised: .milliseconds(250))
        withExtendedLifetime((worker, other)) {}
    }

    @Test("Urgent operations start before others that have waited longer")
    func priorities() async throws {
        let installation = try Installation()
        var ids: [String] = []
        for priority in ["veryLow", "low", "normal", "high", "veryHigh"] {
            ids.append(
                try await installation.enqueue(["-p", priority, "--"] + installation.ledger.program(seconds: 0))
            )
        }
        let worker = try installation.worker(slots: 1)
        try await installation.awaitStates("finished", of: ids)
        #expect(try installation.ledger.starts().map(\.id) == ids.reversed())
        withExtendedLifetime(worker) {}
    }
}
