import Foundation
import Operations
import TestSupport
import Testing

@Suite("Killed inside an operation", .fewAtOnce, .timeLimit(.minutes(60)))
struct KilledInsideTests {
    private let sluice = CommandLine()
    private let folder: TemporaryDirectory

    init() throws {
        folder = try TemporaryDirectory()
        try #require(mkfifo(folder.path("gate"), 0o600) == 0)
    }

    private var journal: [String] {
        let text = (try? String(contentsOfFile: folder.path("journal"), encoding: .utf8)) ?? ""
        return text.split(separator: "\n").map(String.init)
    }

    /// Opens the gate for this body and all later ones. On Linux, opening a pipe for reading and writing does not wait
    /// for readers.
    private func openGate() throws { try #require(open(folder.path("gate"), O_RDWR) >= 0) }

    private func worker() throws -> Program {
        try Program(
            "worker-fixture",
            ["worker", "-c", "1", "--lease", "3s", "--drain-timeout", "10m"],
            environment: sluice.environment(for: ["worker"])
        )
    }

    private func kill(_ worker: Program) async {
        worker.send(SIGKILL)
        #expect(await worker.outcome().code == 128 + SIGKILL)
    }

    @Test("A killed worker leaves the result of an effect, and the next delivery does not repeat the effect")
    func once() async throws {
        let first = try worker()
        let id = try await sluice.enqueue("order.ship", "folder=\(folder.path(""))")
        try await eventually("it ships") { journal == ["charge", "ship in delivery 1"] }
        #expect(try await sluice.json("show", id)["once"]?.arrayValue == ["charge"])
        await kill(first)
        let second = try worker()
        try await eventually("it ships again") { journal == ["charge", "ship in delivery 1", "ship in delivery 2"] }
        try openGate()
        try await sluice.reaches("finished", id)
        #expect(try await sluice.lines("result", id) == [#""receipt of delivery 1""#])
        second.send(SIGTERM)
        #expect(await second.outcome().code == 0)
    }

    @Test("After a kill in the middle of iterate, the next delivery continues behind the last stored element")
    func iterate() async throws {
        let first = try worker()
        let id = try await sluice.enqueue("letters.send", "folder=\(folder.path(""))", "count:=8", "gate:=5")
        try await eventually("five letters are stored") {
            try await sluice.detail(id)?.stored.checkpoint == Array(#"{"next":5}"#.utf8)
        }
        try await eventually("it waits at the sixth") { journal.last == "letter 5" }
        await kill(first)
        try openGate()
        let second = try worker()
        try await sluice.reaches("finished", id)
        #expect(journal == [0, 1, 2, 3, 4, 5, 5, 6, 7].map { "letter \($0)" })
        #expect(try await sluice.json("show", id)["delivery"]?.intValue == 2)
        second.send(SIGTERM)
        #expect(await second.outcome().code == 0)
    }

    @Test("A stopping worker interrupts iterate at the next element; no attempt and no delivery is used")
    func drain() async throws {
        let first = try worker()
        let id = try await sluice.enqueue("letters.send", "folder=\(folder.path(""))", "count:=8", "gate:=5")
        try await eventually("it waits at the sixth") { journal.last == "letter 5" }
        first.send(SIGTERM)
        // The line "draining, up to …" comes earlier. After this one, no body continues with its next element.
        try await eventually("the worker drains") { first.errors.contains("draining running=") }
        try openGate()
        #expect(await first.outcome().code == 0)
        let deliveries = try await sluice.broker.recoverRest(of: first)
        #expect(try await sluice.state(id) == "ready")
        #expect(journal == (0...5).map { "letter \($0)" })
        let second = try worker()
        try await sluice.reaches("finished", id)
        // If Redis did not store that the worker gave it back, it may not have stored its last element either.
        let whole = [0, 1, 2, 3, 4, 5, 6, 7].map { "letter \($0)" }
        let repeating = [0, 1, 2, 3, 4, 5, 5, 6, 7].map { "letter \($0)" }
        let letters = journal
        #expect(letters == whole || deliveries.contains(2) && letters == repeating, "\(letters)")
        let shown = try await sluice.json("show", id)
        #expect(shown["attempt"]?.intValue == 1 && deliveries.contains(shown["delivery"]?.intValue ?? 0), "\(shown)")
        second.send(SIGTERM)
        #expect(await second.outcome().code == 0)
    }
}
