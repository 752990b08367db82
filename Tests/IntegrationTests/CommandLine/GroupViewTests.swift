import RedisBroker
import Sluice
import TestSupport
import Testing

private struct Body: DistributedOperation {
    static let name = "noop"
    func main(_ context: OperationContext) async throws {}
}

private struct Failing: DistributedOperation {
    static let name = "fail"
    func main(_ context: OperationContext) async throws {}
}

extension CommandLineTests {
    @Suite("Groups in show, explain, list, graph, wait and queries")
    struct GroupViewTests {
        private let sluice = CommandLine()
        private let client: SluiceClient

        init() { client = SluiceClient(broker: sluice.broker, namespace: sluice.namespace) }

        private func reasons(_ id: OperationID) async throws -> [JSONValue] {
            try await sluice.json("explain", "\(id)")["reasons"]?.arrayValue ?? []
        }

        private func members(_ count: Int, of group: OperationGroup, queue: String = "default") async throws -> [String]
        {
            try await client.enqueue((0..<count).map { _ in Body() }, .group(group), .queue(queue)).map { "\($0.id)" }
        }

        private func work(_ queues: String = "default") async throws {
            #expect(await (try sluice.start(["worker", "--burst", "-q", queues])).outcome().code == 0)
        }

        private func dead(in group: OperationGroup) async throws -> String {
            let one = try await client.enqueue(Failing(), .group(group), .attempts(1))
            return "\(one.id)"
        }

        @Test("explain of an open group says so and names unfinished members, but no workers and pauses")
        func open() async throws {
            let group = try await client.openGroup("nightly", ifAbandoned: .cancel, lease: .seconds(600))
            try await sluice.lines("queue", "pause", "default")
            var lines = try await sluice.lines("explain", "\(group.id)")
            let start = "\(group.id) group nightly in queue default is blocked: "
            #expect(lines[0] == start + "it is open: its opener has not closed it")
            #expect(
                lines.contains { $0.hasSuffix("it is cancelled if nothing is added for 10m") },
                "\(lines)"
            )
            #expect(lines.last == "  try:  sluice group close \(group.id)")
            let there = try await members(2, of: group, queue: "images")
            lines = try await sluice.lines("explain", "\(group.id)")
            #expect(
                there.allSatisfy { id in lines.contains { $0.hasSuffix("member: images/\(id) noop, ready") } },
                "\(lines)"
            )
            let ids = try await members(5, of: group)
            lines = try await sluice.lines("explain", "\(group.id)")
            #expect(lines[0] == start + "it is open: its opener has not closed it (and 1 more reason)")
            #expect(lines.contains { $0.hasSuffix("7 of 7 members have not ended") }, "\(lines)")
            #expect(ids.allSatisfy { id in lines.contains { $0.hasSuffix("member: \(id) noop, ready") } }, "\(lines)")
            #expect(lines.contains { $0.hasSuffix("others: 2") }, "\(lines)")
            try await group.close()
            #expect(try await reasons(group.id).compactMap { $0["code"]?.stringValue } == ["members"])
            #expect(try await reasons(group.id).first?["fix"]?.stringValue?.contains("explain ") == true)
        }

        @Test(
            "explain of a cancelled group names who cancelled it and how many members run; an ended one has no fix"
        )
        func ends() async throws {
            let group = try await client.openGroup("nightly")
            let running = try await sluice.enqueue("sleep", "seconds:=600")
            try await group.add(OperationReference(id: OperationID(running)!, queue: "default", client: client))
            let worker = try await sluice.worker()
            try await sluice.reaches("executing", running)
            let failed = try await sluice.enqueue("fail", "--attempts", "1", "--group", "\(group.id)")
            try await sluice.reaches("dead", failed)
            try await sluice.broker.cancelSilently(group.id)
            let cancelling = try #require(try await reasons(group.id).first)
            let text = cancelling["text"]?.stringValue ?? ""
            #expect(cancelling["code"]?.stringValue == "cancelling", "\(cancelling)")
            #expect(
                text.hasPrefix("it was cancelled ") && text.hasSuffix("by ann: wrong; 1 member has not ended yet"),
                "\(text)"
            )
            let retried = try await sluice("retry", "\(group.id)")
            #expect(retried.code == 5 && retried.errors.contains("is a group"), "\(retried)")
            #expect(try await sluice.state(failed) == "dead")
            try await sluice.lines("cancel", running, "--quiet")
            try await sluice.reaches("cancelled", "\(group.id)")
            let ended = try #require(try await reasons(group.id).first)
            #expect(ended["code"]?.stringValue == "ended" && ended["fix"] == .null, "\(ended)")
            let finished = try await client.openGroup("other")
            try await finished.close()
            #expect(try await reasons(finished.id).map { $0["fix"] } == [.null])
            worker.send(15)
            #expect(await worker.outcome().code == 0)
        }

        @Test("explain says when a callback starts, and how a dead group can continue")
        func callbacks() async throws {
            let group = try await client.openGroup("nightly", onSuccess: Body(), onEnd: Body(), onFirstDeath: Body())
            let callbacks = try await sluice.broker.edges(.dependents, of: group.id, queue: "default")
            var texts: [String: OperationID] = [:]
            for callback in callbacks {
                let reason = try #require(try await reasons(callback.id).first)
                #expect(reason["code"]?.stringValue == "needs", "\(reason)")
                #expect(reason["fix"]?.stringValue == "sluice explain \(group.id)")
                texts[reason["text"]?.stringValue ?? ""] = callback.id
            }
            let success = try #require(texts["it starts when group nightly has finished"], "\(texts)")
            #expect(texts["it starts when group nightly has ended"] != nil, "\(texts)")
            #expect(texts["it starts when the first member of group nightly is dead"] != nil, "\(texts)")
            let member = try await dead(in: group)
            _ = try await members(1, of: group)
            try await group.close()
            try await work()
            #expect(try await sluice.state("\(group.id)") == "dead")
            let stuck = try #require(try await reasons(success).first)
            let retry = "sluice retry \(group.id)"
            #expect(stuck["text"]?.stringValue == "group nightly is dead: retry it")
            #expect(stuck["fix"]?.stringValue == retry)
            let fact = stuck["facts"]?[0]?["text"]?.stringValue
            #expect(fact == "\(group.id), dead, 2 of 2 members have ended, 1 of these has not finished")
            let ended = try #require(try await reasons(group.id).first)
            #expect(ended["fix"]?.stringValue == retry)
            #expect(
                ended["facts"]?.arrayValue?.contains { $0["text"]?.stringValue == "\(member), dead" } == true,
                "\(ended)"
            )
            #expect(try await sluice.lines("retry", "-w", "group:\(group.id) state:dead", "-y", "-o", "id") == [member])
        }

        @Test("show, list, graph, wait and JSON name a group and count its members")
        func shown() async throws {
            let group = try await client.openGroup("nightly", .queue("ends"))
            let own = try await members(1, of: group, queue: "ends")[0]
            let member = try await members(1, of: group)[0]
            let both = [
                "  group      open; it is closed if nothing is added for 1h",
                "  members    0 of 2 members have ended",
            ]
            let lines = try await sluice.lines("show", "\(group.id)")
            #expect(lines[0].contains("\(group.id)  group nightly  ") && both.allSatisfy(lines.contains), "\(lines)")
            #expect(
                lines.contains("  member     \(own) ready")
                    && lines.contains("  member     default/\(member) not ended"),
                "\(lines)"
            )
            #expect(!lines.contains { $0.hasPrefix("  attempt") }, "\(lines)")
            #expect(try await sluice.lines("show", own).contains("  in group   \(group.id) nightly"))
            #expect(try await sluice.lines("show", member).contains("  in group   ends/\(group.id) nightly"))
            #expect(!(try await sluice.lines("show", own).contains { $0.hasPrefix("  needed by") }))
            #expect(try await sluice.lines("list", "queue:ends").contains { $0.contains("group nightly") })
            let json = try await sluice.json("show", "\(group.id)")
            #expect(
                json["group"] == ["name": "nightly", "open": true, "members": 2, "ended": 0, "failed": 0],
                "\(json)"
            )
            #expect(try await sluice.json("show", own)["group"] == .null)
            let tree = try await sluice.lines("graph", "\(group.id)")
            #expect(tree[0].contains("graph of \(group.id) group nightly   3 operations"), "\(tree)")
            #expect(tree.contains { $0.contains("\(group.id) group nightly  blocked  0/2  ◀") }, "\(tree)")
            let dot = try await sluice.lines("graph", "\(group.id)", "--dot")
            #expect(dot.contains("  \"\(own)\" -> \"\(group.id)\";"), "\(dot)")
            #expect(dot.contains { $0.contains("[label=\"group nightly\\n") }, "\(dot)")
            let graph = try await sluice.json("graph", "\(group.id)")
            #expect(graph["edges"]?.arrayValue?.allSatisfy { $0["onFailure"] == .null } == true, "\(graph)")
            let waited = try await sluice("wait", "\(group.id)", "--timeout", "100ms")
            let still = "group nightly \(group.id) is still blocked: 0 of 2 members have ended"
            #expect(waited.code == 4 && waited.errors.contains(still), "\(waited.errors)")
        }

        @Test("group: finds members in all queues; list, wait, cancel, retry, errors and rm accept it")
        func membersOfGroups() async throws {
            let group = try await client.openGroup("nightly", .queue("ends"))
            let here = try await members(2, of: group)
            let there = try await members(1, of: group, queue: "images")
            let died = try await dead(in: group)
            let other = try await sluice.enqueue("noop")
            let all = Set(here + there + [died])
            for reference in ["\(group.id)", "ends/\(group.id)", "\(group.id)".suffix(8).description] {
                #expect(Set(try await sluice.lines("list", "group:\(reference)", "-o", "id")) == all, "\(reference)")
            }
            #expect(try await sluice.lines("list", "group:\(group.id)", "queue:images", "-o", "id") == there)
            #expect(try await sluice.lines("list", "group:\(group.id)", "name:fail", "-o", "id") == [died])
            #expect(Set(try await sluice.lines("list", "-group:\(group.id)", "-o", "id")) == ["\(group.id)", other])
            let first = try await sluice.json("list", "group:\(group.id)", "--limit", "3")
            let cursor = try #require(first["cursor"]?.stringValue)
            let second = try await sluice.json("list", "group:\(group.id)", "--limit", "3", "--cursor", cursor)
            let pages = [first, second].flatMap { $0["operations"]?.arrayValue ?? [] }.compactMap {
                $0["id"]?.stringValue
            }
            #expect(Set(pages) == all && pages.count == 4 && second["cursor"] == .null)

            #expect(try await sluice.lines("hold", "-w", "group:\(group.id) queue:images", "-y", "-o", "id") == there)
            #expect(
                try await sluice.lines("release", "-w", "group:\(group.id) queue:images", "-y", "-o", "id") == there
            )
            #expect(Set(try await sluice.lines("explain", "-w", "group:\(group.id)", "-o", "id")) == all)
            let cancelled = try await sluice("cancel", "-w", "group:\(group.id) -name:fail", "-y", "-o", "id")
            #expect(Set(cancelled.output.split(separator: "\n").map(String.init)) == Set(here + there))
            #expect(cancelled.errors.contains("3 match; 3 cancelled; scanned 4 of 4"), "\(cancelled.errors)")
            try await work("default,ends,images")
            #expect(try await sluice.state(other) == "finished")
            #expect(try await sluice.json("errors", "group:\(group.id)")["groups"]?[0]?["count"] == 1)
            let retried = try await sluice.lines("retry", "-w", "group:\(group.id) state:cancelled", "-y", "-o", "id")
            #expect(Set(retried) == Set(here + there))
            try await group.close()
            try await work("default,ends,images")
            #expect(try await sluice.state("\(group.id)") == "dead")
            let waited = try await sluice("wait", "-w", "group:\(group.id) state:finished", "-o", "id")
            #expect(waited.code == 0 && Set(waited.output.split(separator: "\n").map(String.init)) == Set(here + there))
            #expect(try await sluice.lines("rm", "-w", "group:\(group.id) state:dead", "-y", "-o", "id") == [died])
        }

        @Test("A query for a group that does not exist, or for an operation that is not a group, is an error")
        func unknown() async throws {
            let plain = try await sluice.enqueue("noop")
            let none = try await sluice("list", "group:\(OperationID())")
            #expect(none.code == 3 && none.errors.contains("no operation"), "\(none)")
            let other = try await sluice("cancel", "-w", "group:\(plain)", "-y")
            #expect(
                other.code == 3 && other.errors.contains("operation \(plain) in queue default is not a group"),
                "\(other)"
            )
            #expect(try await sluice("list", "group:nightly*").code == 64)
            #expect(try await sluice.state(plain) == "ready")
            let standing = try await sluice("cancel", "-w", "group:\(plain)", "--until", "10m", "-y")
            #expect(standing.code == 64 && standing.errors.contains("cannot compare group"), "\(standing)")
        }
    }
}

extension RedisBroker {
    /// Cancels a group without its members.
    fileprivate func cancelSilently(_ id: OperationID) async throws {
        let request = CancelRequest(reason: "wrong", by: "ann")
        #expect(try await cancel([id], request: request, queue: "default") == [.group])
    }
}
