import Foundation
import RedisClient
import TestSupport
import Testing

@Suite("Cancelling", .fewAtOnce, .timeLimit(.minutes(60)))
struct CancellingTests {
    @Test(
        "A running operation stops soon after a cancel from another process, and its record has all timestamps"
    )
    func running() async throws {
        let installation = try Installation()
        let worker = try installation.worker()
        let id = try await installation.enqueue("sleep", "seconds:=600")
        // An operation is executing once it is claimed, but only a body that has begun acknowledges a cancel.
        try await eventually("the body runs") { try await installation.show(id).progress != nil }
        let first = try await installation.sluice("cancel", id, "--wait=180s", "--reason", "wrong file")
        #expect(first.code == 0, "\(first.errors)")
        let shown = try await installation.show(id)
        #expect(shown.state == "cancelled")
        let cancel = try #require(shown.cancel)
        #expect(cancel.reason == "wrong file")
        let requested = try milliseconds(cancel.requestedAt)
        let acknowledged = try milliseconds(cancel.acknowledgedAt)
        let stopped = try milliseconds(cancel.stoppedAt)
        #expect(requested <= acknowledged && acknowledged <= stopped)
        expectPrompt(
            "cancel of a running operation",
            took: .milliseconds(stopped - requested),
            promised: .milliseconds(500)
        )
        #expect(try await installation.sluice("cancel", id).code == 0)
        worker.send(SIGTERM)
        #expect(await worker.outcome().code == 0)
    }

    @Test(
        "Cancelling everything in one database does not affect another database with the same namespace",
        .enabled(if: TestRedis.isSingle, "a cluster has database 0 only")
    )
    func databases() async throws {
        let near = try Installation()
        let far = try Installation(url: TestRedis.shared.url + "?db=1", namespace: near.namespace)
        let workers = [try near.worker(), try far.worker()]
        let kept = try await near.enqueue("sleep", "seconds:=600")
        let cancelled = try await far.enqueue("sleep", "seconds:=600")
        try await near.awaitState("executing", of: kept)
        try await far.awaitState("executing", of: cancelled)
        try await far.succeed("cancel", "--queue", "default", "-y")
        try await far.awaitState("cancelled", of: cancelled)
        // The same worker gets this cancel after all earlier messages.
        let last = try await near.enqueue("sleep", "seconds:=600")
        try await near.awaitState("executing", of: last)
        try await near.succeed("cancel", last, "--wait=180s")
        let shown = try await near.show(kept)
        #expect(shown.state == "executing" && shown.cancel == nil)
        withExtendedLifetime(workers) {}
    }

    @Test("A forged message about an operation or a queue ends no running operation")
    func forged() async throws {
        let installation = try Installation()
        let worker = try installation.worker()
        let kept = try await installation.enqueue("sleep", "seconds:=600")
        try await installation.awaitState("executing", of: kept)
        let shown = try await installation.show(kept)
        let fence = try #require(shown.fence)
        let owner = try #require(shown.worker)
        let prefix = "{\(installation.namespace)/default}:"
        for place in [prefix + "db0:control", prefix + "db0:control:\(owner)", prefix + "control"] {
            for text in ["cancelThrough", "cancelThrough 999999 forged", "cancel \(fence)", "cancel \(fence) forged"] {
                try installation.redis.ask(RedisCommand("PUBLISH", place, text))[0].expectSuccess()
            }
        }
        let last = try await installation.enqueue("sleep", "seconds:=600")
        try await installation.awaitState("executing", of: last)
        try await installation.succeed("cancel", last, "--wait=180s")
        #expect(try await installation.show(kept).state == "executing")
        withExtendedLifetime(worker) {}
    }

    @Test("A program ends with every process that it started, even one that left its process group")
    func tree() async throws {
        let installation = try Installation()
        let worker = try installation.worker()
        let family = ProgramFamily(installation)
        let id = try await installation.enqueue(family.enqueueArguments)
        try await eventually("three processes run") { try family.members().count == 3 }
        #expect(try await installation.sluice("cancel", id, "--wait=180s").code == 0)
        try await eventually("all are gone") { try family.members().allSatisfy { !isAlive($0.pid) } }
        #expect(try await installation.show(id).state == "cancelled")
        withExtendedLifetime(worker) {}
    }

    @Test("--force ends an operation of a frozen worker at once; later nothing of it is left or stored")
    func forcedWhileFrozen() async throws {
        let installation = try Installation()
        let worker = try installation.worker(more: "--cancel-grace", "10m")
        let family = ProgramFamily(installation)
        let id = try await installation.enqueue(family.enqueueArguments)
        try await eventually("three processes run") { try family.members().count == 3 }
        worker.send(SIGSTOP)
        let outcome = try await installation.sluice("cancel", id, "--force", "--reason", "frozen")
        #expect(outcome.code == 0, "\(outcome.errors)")
        let ended = try await installation.show(id)
        #expect(ended.state == "cancelled" && ended.cancel?.reason == "frozen")
        #expect(ended.cancel?.forced?.reason == "frozen" && ended.cancel?.stoppedAt == nil)
        #expect(try family.members().allSatisfy { isAlive($0.pid) })
        let text = try await installation.succeed("show", id)
        #expect(text.contains("has not reported that the body has stopped"), "\(text)")
        #expect(try await installation.sluice("cancel", id, "--force").code == 0)
        worker.send(SIGCONT)
        // SIGKILL comes without the grace of ten minutes.
        try await eventually("all are gone") { try family.members().allSatisfy { !isAlive($0.pid) } }
        try await eventually("the worker says so") { try await installation.show(id).cancel?.stoppedAt != nil }
        let shown = try await installation.show(id)
        #expect(shown.state == "cancelled" && shown.errors.isEmpty)
        let next = try await installation.enqueue("noop")
        try await installation.awaitState("finished", of: next)
        worker.send(SIGTERM)
        #expect(await worker.outcome().code == 0)
    }

    @Test("--force --wait kills a program that ignores SIGTERM, and waits until the worker reports its stop")
    func forcedAndWaited() async throws {
        let installation = try Installation()
        let worker = try installation.worker(more: "--cancel-grace", "10m")
        let path = installation.folder.path("pid")
        let script = "trap '' TERM; echo $$ > $0; while :; do sleep 1; done"
        let id = try await installation.enqueue("--", "sh", "-c", script, path)
        try await eventually("it runs") { FileManager.default.fileExists(atPath: path) }
        #expect(try await installation.sluice("cancel", id, "--wait=1ms").code == 4)
        let outcome = try await installation.sluice("cancel", id, "--force", "--wait=180s")
        #expect(outcome.code == 0, "\(outcome.output) \(outcome.errors)")
        #expect(outcome.output.contains("stopped after"))
        let cancel = try #require(try await installation.show(id).cancel)
        #expect(cancel.forced != nil && cancel.acknowledgedAt != nil && cancel.stoppedAt != nil)
        try await eventually("the guard is gone") { try children(of: worker.identifier).isEmpty }
        let others = try await installation.enqueue("--", "sh", "-c", script, path + "2")
        try await eventually("it runs") { FileManager.default.fileExists(atPath: path + "2") }
        #expect(try await installation.sluice("cancel", "--queue", "default", "--force", "-y").code == 0)
        #expect(try await installation.show(others).state == "cancelled")
        try await eventually("the guard is gone") { try children(of: worker.identifier).isEmpty }
    }

    @Test("Unknown ids exit with 3, ended ones with 5 and unchanged, a batch of both with 6")
    func refused() async throws {
        let installation = try Installation()
        let worker = try installation.worker()
        let finished = try await installation.enqueue("noop")
        try await installation.awaitState("finished", of: finished)
        let unknown = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
        #expect(try await installation.sluice("cancel", unknown).code == 3)
        let late = try await installation.sluice("cancel", finished)
        #expect(late.code == 5)
        #expect((late.output + late.errors).contains("already finished"))
        #expect(try await installation.show(finished).state == "finished")
        let waiting = try await installation.enqueue("noop", "--in", "1h")
        #expect(try await installation.sluice("cancel", waiting, finished, unknown).code == 6)
        #expect(try await installation.show(waiting).state == "cancelled")
        withExtendedLifetime(worker) {}
    }

    @Test("A cancelled operation that is ready, scheduled or retrying never starts")
    func waiting() async throws {
        let installation = try Installation()
        let ready = try await installation.enqueue(["--"] + installation.ledger.program(seconds: 0))
        let scheduled = try await installation.enqueue(["--in", "1s", "--"] + installation.ledger.program(seconds: 0))
        let outcome = try await installation.sluice("cancel", ready, scheduled)
        #expect(outcome.code == 0, "\(outcome.errors)")
        let worker = try installation.worker()
        let retrying = try await installation.enqueue("--attempts", "20", "--", "sh", "-c", "exit 1")
        try await installation.awaitState("retrying", of: retrying)
        #expect(try await installation.sluice("cancel", retrying).code == 0)
        // On a busy machine the operation may have run more than once by then, and run now.
        try await installation.awaitState("cancelled", of: retrying)
        let failures = try await installation.show(retrying).errors.count
        // The last operation is due later than the others, so they had their time to start.
        let last = try await installation.enqueue(["--in", "4s", "--"] + installation.ledger.program(seconds: 0))
        try await installation.awaitState("finished", of: last)
        #expect(Set(try installation.ledger.lines().map(\.id)) == [last])
        for id in [ready, scheduled, retrying] { #expect(try await installation.show(id).state == "cancelled") }
        #expect(try await installation.show(retrying).errors.count == failures)
        withExtendedLifetime(worker) {}
    }

    @Test("A program that ignores SIGTERM is ended after the grace, and its guard with it")
    func stubborn() async throws {
        let installation = try Installation()
        let worker = try installation.worker(more: "--cancel-grace", "1s")
        let path = installation.folder.path("pid")
        let script = "trap '' TERM; echo $$ > $0; while :; do sleep 1; done"
        let id = try await installation.enqueue("--", "sh", "-c", script, path)
        try await eventually("it runs") { FileManager.default.fileExists(atPath: path) }
        let outcome = try await installation.sluice("cancel", id, "--wait=180s")
        #expect(outcome.code == 0, "\(outcome.output) \(outcome.errors)")
        #expect(try await installation.show(id).state == "cancelled")
        try await eventually("the guard is gone") { try children(of: worker.identifier).isEmpty }
    }
}

/// Converts an RFC 3339 time, as the command line prints it, to milliseconds since 1970.
func milliseconds(_ time: String?) throws -> Int {
    let time = try #require(time)
    let formatter = ISO8601DateFormatter()
    formatter.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
    return Int((try #require(formatter.date(from: time))).timeIntervalSince1970 * 1000)
}

/// A program that starts two others, one of them in a separate session, and records all process ids.
struct ProgramFamily {
    struct Member {
        var delivery: Int
        var pid: Int32
    }

    private let path: String

    init(_ installation: Installation) { path = installation.folder.path("family") }

    var enqueueArguments: [String] {
        let script =
            "say() { echo $SLUICE_DELIVERY $1 >> $0; }; sleep 600 & say $!; setsid sleep 600 & say $!; say $$; wait"
        return ["--", "sh", "-c", script, path]
    }

    func members() throws -> [Member] {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return [] }
        return text.split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ").compactMap { Int32($0) }
            return words.count == 2 ? Member(delivery: Int(words[0]), pid: words[1]) : nil
        }
    }
}
