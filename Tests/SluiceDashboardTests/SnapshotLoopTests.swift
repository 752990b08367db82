import BrokerModel
import Operations
import Testing

@testable import SluiceDashboard

@Suite("Reads of the dashboard", .timeLimit(.minutes(60)))
struct SnapshotLoopTests {
    @Test("All callers of an interval share one read, and a later call gets newer data")
    func shared() async throws {
        let broker = InMemoryBroker()
        _ = try await broker.enqueue([NewOperation(envelope: OperationEnvelope(name: "a").encoded())], queue: "mail")
        let loop = SnapshotLoop(broker, interval: .seconds(3_600), patience: .seconds(3_600))
        let sequences = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<50 { group.addTask { await loop.current().sequence } }
            return await group.reduce(into: Set<Int>()) { $0.insert($1) }
        }
        #expect(sequences == [1])
        #expect(await loop.next(after: 0).sequence == 1)
        await loop.expire()
        let second = await loop.current()
        #expect(second.sequence == 2 && second.board?.count(.ready) == 1)
    }

    @Test("After a change, a page reads at once, although a stream waits for the end of the interval")
    func beside() async throws {
        let broker = InMemoryBroker()
        let loop = SnapshotLoop(broker, interval: .seconds(3_600), patience: .seconds(3_600))
        _ = await loop.current()
        async let stream = loop.next(after: 1)
        while await loop.pending == nil { await Task.yield() }
        _ = try await broker.enqueue([NewOperation(envelope: OperationEnvelope(name: "a").encoded())], queue: "mail")
        await loop.expire()
        let page = await loop.current()
        #expect(page.failure == nil && page.board?.count(.ready) == 1)
        #expect(await stream.sequence == 2)
    }

    @Test("Statistics of many queues are read in rotation, also when queues come and go")
    func rotation() {
        var rotation = QueueRotation<Int>(count: 2)
        #expect(rotation.next(of: ["a", "b"]) == ["a", "b"])
        #expect(rotation.next(of: ["a", "b", "c", "d", "e"]) == ["a", "b"])
        #expect(rotation.next(of: ["a", "b", "c", "d", "e"]) == ["c", "d"])
        #expect(rotation.next(of: ["a", "b", "c", "d", "e"]) == ["e", "a"])
        #expect(rotation.next(of: ["b", "d", "e"]) == ["b", "d"])
        rotation.add(["b": 1, "d": 1])
        #expect(rotation.next(of: ["b"]) == ["b"])
        #expect(Set(rotation.values.keys) == ["b"])
    }
}
