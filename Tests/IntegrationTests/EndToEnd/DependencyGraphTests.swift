import BrokerModel
import Foundation
import Operations
import TestSupport
import Testing

@Suite("Operations that depend on each other", .fewAtOnce, .timeLimit(.minutes(60)))
struct DependencyGraphTests {
    @Test(
        "1 → 200 → 1 on three workers, one killed and one stopped: the last operation runs after all others",
        arguments: ["default", "other"]
    )
    func fan(_ queue: String) async throws {
        let installation = try Installation()
        let ledger = installation.ledger
        var workers = try (0..<3).map { _ in try installation.worker(slots: 4, more: "-q", "default,other") }
        try await installation.awaitWorkers(3)
        let first = try await installation.enqueue(["--"] + ledger.program(gate: "first"))
        var line = try #require(try JSONValue(parsing: ledger.batchLine(seconds: 0.02)).objectValue)
        line["after"] = .string(first)
        line["queue"] = .string(queue)
        let middle = try await installation.enqueue(batch: JSONValue.object(line).serialized(), count: 200)
        let last = try await installation.enqueue(
            ["--after", middle.joined(separator: ","), "--"] + ledger.program(gate: "last")
        )
        #expect(try await installation.counts()["blocked"] == 201)
        #expect(try ledger.starts().allSatisfy { $0.id == first })
        try ledger.open("first")

        try await eventually("some have ended") { try ledger.ends().count > 20 }
        workers.removeFirst().send(SIGKILL)
        try await eventually("more have ended") { try ledger.ends().count > 80 }
        let stopped = workers.removeFirst()
        stopped.send(SIGSTOP)
        try ledger.open("last")
        try await installation.awaitState("finished", of: last)
        stopped.send(SIGCONT)

        let ids = [first] + middle + [last]
        let fences = Dictionary(uniqueKeysWithValues: zip(ids, try await installation.show(ids)).map { ($0, $1.fence) })
        let valid = try ledger.lines().filter { fences[$0.id] == $0.fence }
        let start = try #require(valid.first { $0.id == last && $0.event == "start" })
        let ends = valid.filter { $0.event == "end" && $0.id != last }
        #expect(ends.count == 201 && ends.allSatisfy { $0.at <= start.at })
        #expect(valid.filter { $0.event == "start" }.count == 202)
        for worker in workers + [stopped] { worker.send(SIGTERM) }
        for worker in workers + [stopped] { #expect(await worker.outcome().code == 0) }
        #expect(try await installation.sluice("doctor", "--deep").code == 0)
    }

    @Test(
        "A random graph of 1,000 in one or three queues ends as in a local queue, while a worker is killed",
        arguments: [(seed: UInt64(7), queues: 1), (seed: 11, queues: 3)]
    )
    func random(_ seed: UInt64, queues: Int) async throws {
        let graph = RandomGraph(count: 1000, queues: queues, seed: seed)
        let expected = try await graph.runLocally()
        #expect(Set(expected) == [.finished, .dead, .cancelled, .blocked], "the graph has all of them")

        let installation = try Installation()
        let names = graph.queues.joined(separator: ",")
        var workers = try (0..<3).map { _ in try installation.worker(slots: 4, more: "-q", names) }
        try await installation.awaitWorkers(3)
        let input = graph.lines.shuffled().joined(separator: "\n")
        let outcome = try await installation.run(["enqueue", "--batch", "-", "--quiet"], input: input)
        try #require(outcome.code == 0, "\(outcome.errors)")
        try await eventually("some have ended") { try await installation.counts()["finished"] ?? 0 > 50 }
        workers.removeFirst().send(SIGKILL)
        let ended = expected.count { $0 != .blocked }
        try await eventually("all have ended that can") {
            let counts = try await installation.counts()
            return counts["blocked"] == expected.count - ended
                && ["finished", "dead", "cancelled"].reduce(0) { $0 + (counts[$1] ?? 0) } == ended
        }
        let shown = try await installation.show(graph.ids)
        let different = zip(graph.ids, zip(shown, expected)).filter { $0.1.0.state != $0.1.1.rawValue }
        #expect(different.isEmpty, "seed \(seed): \(different.prefix(3))")
        for worker in workers { worker.send(SIGTERM) }
        for worker in workers { #expect(await worker.outcome().code == 0) }
        #expect(try await installation.sluice("doctor", "--deep").code == 0)
    }
}

/// Operations that depend on earlier ones of the list, with all policies. Some operations fail.
private struct RandomGraph {
    struct Node {
        var fails: Bool
        var dependencies: [(index: Int, policy: DependencyFailurePolicy)] = []
    }

    var nodes: [Node] = []
    let ids: [String]
    let queues: [String]

    init(count: Int, queues: Int, seed: UInt64) {
        self.queues = (0..<queues).map { "part-\($0)" }
        var chance = SeededGenerator(seed: seed)
        ids = (0..<count).map { "node-\($0)" }
        for index in 0..<count {
            var node = Node(fails: Int.random(in: 0..<20, using: &chance) == 0)
            let edges = index == 0 ? 0 : Int.random(in: 0...3, using: &chance)
            for other in Set((0..<edges).map { _ in Int.random(in: max(0, index - 100)..<index, using: &chance) }) {
                // Mostly policies that leave operations to run
                let policies: [DependencyFailurePolicy] = [.run, .run, .run, .run, .cancel, .cancel, .cancel, .hold]
                node.dependencies.append((other, policies.randomElement(using: &chance) ?? .run))
            }
            nodes.append(node)
        }
    }

    /// The lines for `enqueue --batch`
    var lines: [String] {
        nodes.enumerated().map { index, node in
            let after = node.dependencies.map { JSONValue.string("\(ids[$0.index]):\($0.policy.rawValue)") }
            let value: JSONValue = [
                "name": node.fails ? "fail" : "sleep", "args": node.fails ? [:] : ["seconds": 0.01],
                "id": .string(ids[index]), "attempts": 1, "after": .array(after),
                "queue": .string(queues[index % queues.count]),
            ]
            return value.serialized()
        }
    }

    /// Runs the graph in a local queue. Returns the state of each operation once none can continue.
    func runLocally() async throws -> [OperationState] {
        let queue = LocalOperationQueue()
        queue.isSuspended = true
        var operations: [LocalOperation] = []
        for node in nodes {
            let fails = node.fails
            let operation = ValueOperation { if fails { throw Failed() } }
            for (index, policy) in node.dependencies {
                try operation.addDependency(operations[index], onFailure: policy)
            }
            try queue.add(operation)
            operations.append(operation)
        }
        queue.isSuspended = false
        try await eventually("nothing goes on") {
            operations.allSatisfy { $0.state.isTerminal || $0.state == .blocked }
        }
        return operations.map(\.state)
    }

    private struct Failed: Error {}
}
