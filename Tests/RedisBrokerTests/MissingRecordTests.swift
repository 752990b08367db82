import Operations
import RedisClient
import TestSupport
import Testing

@testable import RedisBroker
@testable import BrokerModel

/// A record may be missing because Redis evicted it, or because an operator deleted it.
@Suite("An operation whose record is gone", .timeLimit(.minutes(60)))
struct MissingRecordTests {
    private let queue = "bench"

    private func lose(_ id: OperationID, of broker: ClockedBroker, withExtras: Bool = false) throws {
        var command = RedisCommand("DEL", broker.prefix + id.description)
        if withExtras { command.append(broker.prefix + "x:" + id.description) }
        try TestServer.shared.ask(command)[0].expectSuccess()
    }

    private func on(_ body: (ClockedBroker, BrokerBench) async throws -> Void) async throws {
        let broker = try await ClockedBroker(queue: queue)
        defer { broker.close() }
        try await body(broker, BrokerBench(broker.redis) { try await broker.advance(by: $0) })
    }

    /// Fixes places and records as `doctor --fix` does.
    private func fix(_ places: [AuditPlace], _ ids: [OperationID], _ broker: RedisBroker) async throws {
        let codes: Set<String> = ["lost", "noRecord", "leftover"]
        for place in places {
            _ = try await broker.auditPlace(place, cursor: nil, limit: 100, queue: queue, fixing: codes)
        }
        _ = try await broker.auditRecords(ids.map(\.description), queue: queue, fixing: codes)
    }

    private func findings(_ broker: RedisBroker) async throws -> [AuditFinding] {
        try await broker.auditQueue(queue, fixing: []).findings
    }

    @Test("does not block others of its limit key, inside or outside of a lane", arguments: [1, 2], [false, true])
    func limitKey(place: Int, withExtras: Bool) async throws {
        try await on { broker, bench in
            let worker = try bench.worker()
            let ids = try await bench.enqueue(3, key: "a")
            // The first operation is in a lane. After it has started, the second one is.
            if place == 2 { _ = try await bench.complete(bench.claimOne(worker), worker) }
            try lose(ids[1], of: broker, withExtras: withExtras)
            if place == 1 { _ = try await bench.complete(bench.claimOne(worker), worker) }
            var left: [OperationID] = []
            for _ in 0..<2 { left += try await bench.claim(worker, 9).operations.map(\.id) }
            #expect(left == [ids[2]])
            let found = try await findings(broker.redis)
            #expect(found.map(\.code) == ["missing"], "\(found)")
            #expect(found.first?.subject == ids[1].description)
        }
    }

    @Test("does not keep a more urgent operation of its limit key out of the lane")
    func urgent() async throws {
        try await on { broker, bench in
            let worker = try bench.worker()
            let first = try await bench.enqueue(1, key: "a")[0]
            try lose(first, of: broker)
            let urgent = try await bench.enqueue(1, priority: .high, key: "a")[0]
            #expect(try await bench.claim(worker, 9).operations.map(\.id) == [urgent])
            #expect(try await findings(broker.redis).map(\.code) == ["missing"])
        }
    }

    @Test("does not block an enqueue that replaces it", arguments: [true, false])
    func superseded(isHolder: Bool) async throws {
        try await on { broker, bench in
            let worker = try bench.worker()
            let holder = try await bench.enqueueNew("key", .enqueue)
            let waiting = try await bench.enqueueNew("key", .enqueue)
            try lose(isHolder ? holder : waiting, of: broker)
            let new = try await bench.enqueueNew("key", .replace)
            let claimed = try await bench.claim(worker, 9).operations.map(\.id)
            #expect(claimed == [new], "what waited before is replaced")
        }
    }

    @Test("is removed from the places of its limit key by a fix, and the next one continues")
    func fixedLimitKey() async throws {
        try await on { broker, bench in
            let worker = try bench.worker()
            let ids = try await bench.enqueue(2, key: "a")
            try lose(ids[0], of: broker)
            try await fix([.next("0:a"), .keyed("0:a")], [], broker.redis)
            #expect(try await bench.claim(worker, 9).operations.map(\.id) == [ids[1]])
        }
    }

    @Test("does not wait for its unique key, and the next one gets the key")
    func behind() async throws {
        try await on { broker, bench in
            let worker = try bench.worker()
            let ids = [
                try await bench.enqueueNew("key", .enqueue), try await bench.enqueueNew("key", .enqueue),
                try await bench.enqueueNew("key", .enqueue),
            ]
            try lose(ids[1], of: broker)
            _ = try await bench.complete(bench.claimOne(worker), worker)
            #expect(try await bench.claim(worker, 9).operations.map(\.id) == [ids[2]])
        }
    }

    @Test("has no unique key, and waiting operations get the key before new ones, or after a fix")
    func holder() async throws {
        for isFixed in [false, true] {
            try await on { broker, bench in
                let worker = try bench.worker()
                let first = try await bench.enqueueNew("key", .enqueue)
                let second = try await bench.enqueueNew("key", .enqueue)
                try lose(first, of: broker)
                if isFixed {
                    try await fix([.unique], [], broker.redis)
                } else {
                    _ = try await bench.enqueueNew("key", .enqueue)
                }
                #expect(try await bench.claim(worker, 9).operations.map(\.id) == [second])
            }
        }
    }

    @Test("counts as removed for its dependents after a fix")
    func needed() async throws {
        try await on { broker, bench in
            let worker = try bench.worker()
            let needed = try await bench.enqueue()[0]
            let links = [DependencyFailurePolicy.cancel, .run].map {
                OperationLinks(after: [OperationDependency(needed, onFailure: $0)])
            }
            let waiting = links.map { NewOperation(envelope: BrokerBench.envelope(), links: $0) }
            _ = try await bench.broker.enqueue(waiting, queue: queue)
            try lose(needed, of: broker, withExtras: true)
            try await fix([], waiting.map(\.id), broker.redis)
            try await bench.expectState(waiting[0].id, .cancelled)
            #expect(try await bench.claim(worker, 9).operations.map(\.id) == [waiting[1].id])
        }
    }
    @Test("is removed from the running ones of its limit key by a fix, and the next one starts")
    func fixedRunning() async throws {
        try await on { broker, bench in
            let worker = try bench.worker()
            _ = try await broker.redis.setLimits([.keyConcurrency(1)], by: "ann", queue: queue)
            let ids = try await bench.enqueue(2, key: "a")
            #expect(try await bench.claimOne(worker).id == ids[0])
            try broker.delete("inflight:\(worker)")
            try lose(ids[0], of: broker)
            try await fix([.running(key: "a")], [], broker.redis)
            #expect(try await bench.claim(worker, 9).operations.map(\.id) == [ids[1]])
        }
    }

    @Test("A limit key that no list shows is found, and listed again by a fix")
    func unlistedKey() async throws {
        try await on { broker, bench in
            let ids = try await bench.enqueue(2, key: "a")
            func listed() async throws -> [OperationID] {
                try await broker.redis.page(state: .ready, queue: queue, cursor: nil, limit: 9).operations.map(\.id)
            }
            #expect(try await listed() == ids)
            try broker.delete("keyNames")
            #expect(try await listed() == [])
            #expect(try await broker.redis.auditQueue(queue, fixing: []).findings.map(\.subject) == ["a"])
            _ = try await broker.redis.auditQueue(queue, fixing: ["lost"])
            #expect(try await listed() == ids)
            #expect(try await broker.redis.auditQueue(queue, fixing: []).findings.isEmpty)
        }
    }

    @Test("An operation that no worker holds is recovered by a fix, and its limit key no longer counts it")
    func fixedUnheld() async throws {
        try await on { broker, bench in
            let worker = try bench.worker()
            _ = try await broker.redis.setLimits([.keyConcurrency(1)], by: "ann", queue: queue)
            let id = try await bench.enqueue(1, key: "a")[0]
            #expect(try await bench.claimOne(worker).id == id)
            try broker.delete("inflight:\(worker)")
            try await fix([], [id], broker.redis)
            #expect(try await bench.claim(worker, 9).operations.map(\.id) == [id])
        }
    }
}

extension ClockedBroker {
    /// Deletes a key of the queue, as an operator might.
    fileprivate func delete(_ name: String) throws {
        try TestServer.shared.ask(RedisCommand("DEL", prefix + name))[0].expectSuccess()
    }
}
