import Foundation
import Operations
import RedisClient
import TestSupport
import Testing

extension CommandLineTests {
    /// A cluster that works on while one of its three nodes is away.
    @Suite("a cluster without one of its nodes")
    struct AbsentNodeTests {
        /// The limit for a node that is away: long enough for a busy machine to reach the others
        private static let limited = ["--connect-timeout", "20s"]
        private static let tables = [["stats"], ["queue", "ls"], ["workers", "ls"], ["list"], ["monitor", "--once"]]
        private let cluster: TestCluster
        private let sluice: CommandLine

        init() throws {
            cluster = try TestCluster.start(["cluster-require-full-coverage no"])
            sluice = CommandLine(cluster.endpointOfAll)
        }

        /// Returns a queue that is on this node if `wanted` is true, otherwise on another node.
        private func queue(_ prefix: String, isOn node: TestServer, _ wanted: Bool) throws -> String {
            let number = try (0..<200).first { number in
                try (cluster.node(for: "{\(sluice.namespace)/\(prefix)\(number)}:meta") === node) == wanted
            }
            return "\(prefix)\(try #require(number))"
        }

        /// Returns a node that does not have the list of queues.
        private func victim() throws -> TestServer {
            let registry = try cluster.node(for: "\(sluice.namespace):queues")
            return try #require(cluster.nodes.first { $0 !== registry })
        }

        private func crash(_ node: TestServer) async throws -> String {
            node.crash()
            return "127.0.0.1:\(node.options.port)"
        }

        @Test("Operations on other nodes are found, waited for and listed; missing queues are named, also in JSON")
        func reading() async throws {
            defer { cluster.stop() }
            let victim = try victim()
            let live = try queue("live", isOn: victim, false)
            let dead = try queue("dead", isOn: victim, true)
            let worker = try await sluice.worker("-q", live)
            let id = try await sluice.enqueue("noop", "-q", live)
            let lost = try await sluice.enqueue("noop", "-q", dead)
            try await sluice.reaches("finished", id)
            let place = try await crash(victim)

            #expect(try await sluice.json("show", id)["state"]?.stringValue == "finished")
            #expect(try await sluice.lines("show", String(id.suffix(8))).isEmpty == false)
            let next = try await sluice.enqueue("sleep", "seconds:=1", "-q", live)
            let wait = try await sluice("wait", next)
            #expect(wait.code == 0, "\(wait.errors)")
            for arguments in Self.tables + [["stat", "-n", "1"]] {
                let outcome = await (try sluice.start(arguments)).outcome()
                #expect(outcome.code == 0, "\(arguments): \(outcome.errors)")
                let warning = "warning: node \(place) of the cluster does not answer"
                #expect(outcome.errors.contains(warning), "\(arguments): \(outcome.errors)")
                #expect(outcome.errors.contains("left out: \(dead)"), "\(arguments): \(outcome.errors)")
                #expect(!outcome.output.contains(dead), "\(arguments): \(outcome.output)")
            }
            for arguments in Self.tables {
                let outcome = await (try sluice.start(arguments + ["-o", "json"])).outcome()
                let json = try JSONValue(parsing: outcome.output)
                let node = try #require(json["absentNodes"]?.arrayValue?.first, "\(arguments): \(json)")
                #expect(node["node"]?.stringValue == place)
                #expect(node["queues"]?.arrayValue == [.string(dead)])
                #expect(node["error"]?.stringValue?.contains("refused") == true)
            }
            // The operation may be on the missing node, so "not found" would be a guess.
            let show = await (try sluice.start(["show", lost] + Self.limited)).outcome()
            #expect(show.code == 69)
            #expect(show.errors.contains(place), "\(show.errors)")

            try victim.restart()
            try await eventually("all is there again") {
                let outcome = try await sluice("stats")
                return outcome.code == 0 && outcome.errors.isEmpty && outcome.output.contains(dead)
            }
            #expect(try await sluice.json("stats")["absentNodes"]?.arrayValue == [])
            worker.send(SIGTERM)
            #expect(await worker.outcome().code == 0)
        }

        @Test("Without the node of the queue list, the error says so; QUEUE/ID needs no list")
        func registry() async throws {
            defer { cluster.stop() }
            let registry = try cluster.node(for: "\(sluice.namespace):queues")
            let queue = try queue("live", isOn: registry, false)
            let id = try await sluice.enqueue("noop", "-q", queue)
            let place = try await crash(registry)
            let stats = await (try sluice.start(["stats"] + Self.limited)).outcome()
            #expect(stats.code == 69)
            for part in ["the list of queues (key \(sluice.namespace):queues)", place] {
                #expect(stats.errors.contains(part), "\(stats.errors)")
            }
            #expect(try await sluice.json("show", "\(queue)/\(id)")["state"]?.stringValue == "ready")
        }

        @Test("If no queue is left, commands fail instead of printing an empty table")
        func nothingLeft() async throws {
            defer { cluster.stop() }
            let victim = try victim()
            let queue = try queue("dead", isOn: victim, true)
            _ = try await sluice.enqueue("noop", "-q", queue)
            let place = try await crash(victim)
            for arguments in [["stats"], ["list"]] {
                let outcome = await (try sluice.start(arguments + Self.limited)).outcome()
                #expect(outcome.code == 69, "\(arguments)")
                #expect(outcome.errors.contains(place), "\(outcome.errors)")
            }
        }

        /// A slow machine answers late, which also counts as an outage. So the test checks only that begins and ends
        /// alternate.
        @Test("A worker logs each begin and end of an outage once, however often it tries, and works on")
        func log() async throws {
            defer { cluster.stop() }
            let victim = try victim()
            let live = try queue("live", isOn: victim, false)
            let dead = try (0..<3).map { try queue("dead\($0)x", isOn: victim, true) }
            let queues = ([live] + dead).joined(separator: ",")
            let worker = try sluice.start(["worker", "-v", "-q", queues, "--lease", "3s", "--log-format", "json"])
            try await eventually("it works for all") { try await sluice.snapshots().count { !$0.workers.isEmpty } == 4 }
            let place = try await crash(victim)
            func log() -> WorkerLog { WorkerLog(worker.errors) }
            try await eventually("it has noticed, and goes on trying") {
                let log = log()
                return dead.allSatisfy { log.heartbeats(of: $0).last == .begin } && log.node(place).last == .begin
                    && log.tries(place) > 5
            }
            let id = try await sluice.enqueue("noop", "-q", live)
            _ = try await sluice("wait", id)
            try victim.restart()
            try await eventually("it has noticed") {
                let log = log()
                return dead.allSatisfy { log.heartbeats(of: $0).last == .end } && log.node(place).last == .end
            }
            worker.send(SIGTERM)
            #expect(await worker.outcome().code == 0)
            for turns in [log().node(place)] + dead.map(log().heartbeats) {
                let alternating = turns.indices.map { $0.isMultiple(of: 2) ? WorkerLog.Turn.begin : .end }
                #expect(turns == alternating, "\(worker.errors)")
            }
        }
    }
}

/// The outages that a worker has logged so far, read from JSON lines
private struct WorkerLog {
    enum Turn { case begin, end }

    private let entries: [(message: String, metadata: JSONValue)]

    init(_ lines: String) {
        // The last line may be incomplete.
        entries = lines.split(separator: "\n").compactMap { line in
            guard let entry = try? JSONValue(parsing: String(line)) else { return nil }
            return (entry["message"]?.stringValue ?? "", entry["metadata"] ?? .null)
        }
    }

    /// The begins and ends of outages of a node.
    func node(_ place: String) -> [Turn] {
        turns(
            "the client cannot reach a node of the cluster and tries again",
            "the client reaches a node of the cluster again"
        ) { Self.isNode(place, $0) }
    }

    /// The begins and ends of failing heartbeats of a queue.
    func heartbeats(of queue: String) -> [Turn] {
        turns("heartbeats fail", "heartbeats are answered again") {
            $0["queues"]?.stringValue?.split(separator: ",").contains(Substring(queue)) == true
        }
    }

    /// The number of times that the worker could not connect to a node
    func tries(_ place: String) -> Int {
        entries.count { $0.message == "no connection to Redis" && Self.isNode(place, $0.metadata) }
    }

    /// Returns whether the metadata has the URL of the node.
    private static func isNode(_ place: String, _ metadata: JSONValue) -> Bool {
        metadata["redis"]?.stringValue?.contains(place) == true
    }

    private func turns(_ begin: String, _ end: String, where isMeant: (JSONValue) -> Bool) -> [Turn] {
        entries.compactMap { message, metadata in
            guard isMeant(metadata) else { return nil }
            return message == begin ? .begin : message == end ? .end : nil
        }
    }
}
