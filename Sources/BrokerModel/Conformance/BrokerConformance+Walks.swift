import Operations

// A walk over the pages of a state finds each operation that stays exactly once, even if others leave meanwhile.
extension BrokerConformance {
    static let walking: [ConformanceCheck] = [
        ConformanceCheck(
            "A walk finds remaining operations once, though rows of the same instant are removed behind it"
        ) { bench in
            let ids = try await bench.enqueue(30, delay: 60_000)
            try await bench.expectWalk(over: .scheduled, of: ids) { page in
                let gone = page.enumerated().filter { $0.offset % 2 == 1 }.map(\.element)
                _ = try await bench.broker.remove(gone, by: "ann", queue: bench.queue)
                return gone
            }
        },
        ConformanceCheck("A walk over ended operations finds the rest once, though the last row of a page is removed") {
            bench in
            let worker = try bench.worker()
            let ids = try await bench.enqueue(30)
            for claimed in try await bench.claim(worker, 30).operations {
                _ = try await bench.fail(claimed, worker, .dead)
            }
            try await bench.expectWalk(over: .dead, of: ids) { page in
                let gone = Array(page.suffix(2))
                _ = try await bench.broker.remove(gone, by: "ann", queue: bench.queue)
                return gone
            }
        },
        ConformanceCheck("A walk over ready operations finds the rest once, though workers take some from the head") {
            bench in
            let worker = try bench.worker()
            let ids = try await bench.enqueue(40)
            try await bench.expectWalk(over: .ready, of: ids) { _ in
                try await bench.claim(worker, 3).operations.map(\.id)
            }
        },
        ConformanceCheck("A walk over ready operations keeps its place when all operations before it have started") {
            bench in
            let worker = try bench.worker()
            let ids = try await bench.enqueue(40)
            try await bench.expectWalk(over: .ready, of: ids) { page in
                try await bench.claim(worker, page.count).operations.map(\.id)
            }
        },
        ConformanceCheck(
            "A walk over operations with limit keys or unhandled names finds the rest once, though the keys change their order"
        ) { bench in
            let worker = try bench.worker()
            let unhandled = try await bench.setAside(9, worker)
            let ids = unhandled + (try await bench.enqueue(limitKeys: (0..<30).map { "k\($0 % 5)" }))
            try await bench.expectWalk(over: .ready, of: ids) { page in
                // The key of a started operation has fewer ready ones than the others.
                let gone = Array(page.suffix(1))
                _ = try await bench.broker.remove(gone, by: "ann", queue: bench.queue)
                return gone + (try await bench.claim(worker, 1).operations.map(\.id))
            }
        },
        ConformanceCheck("A walk over the operations of a cancelled queue finds each once") { bench in
            let ids = try await bench.enqueueAndCancel()
            try await bench.expectWalk(over: .cancelled, of: ids) { _ in [] }
        },
        ConformanceCheck("A walk over the operations of a cancelled queue finds all, though sweeps clear some away") {
            bench in
            let ids = try await bench.enqueueAndCancel()
            try await bench.expectWalk(over: .cancelled, of: ids, maySeeTwice: true) { _ in
                _ = try await bench.broker.sweep(queue: bench.queue)
                return []
            }
        },
        ConformanceCheck("A walk over large operations ends, though workers take some from the head") { bench in
            let worker = try bench.worker()
            let arguments = Array("\"\(String(repeating: "x", count: 20_000))\"".utf8)
            let large = (0..<30).map { _ in
                NewOperation(tracked: false, envelope: OperationEnvelope(name: "check", arguments: arguments).encoded())
            }
            _ = try await bench.broker.enqueue(large, queue: bench.queue)
            try await bench.expectWalk(over: .ready, of: large.map(\.id)) { _ in
                try await bench.claim(worker, 2).operations.map(\.id)
            }
        },
        ConformanceCheck("A walk over running operations finds the rest once, though others end and heartbeats come") {
            bench in
            let workers = [try bench.worker(), try bench.worker(), try bench.worker()]
            let ids = try await bench.enqueue(30)
            var held: [OperationID: (ClaimedOperation, WorkerID)] = [:]
            for worker in workers {
                for claimed in try await bench.claim(worker, 10).operations { held[claimed.id] = (claimed, worker) }
            }
            try await bench.expectWalk(over: .executing, of: ids) { page in
                try await bench.advance(.milliseconds(10))
                for worker in workers.reversed() { try bench.beat(worker) }
                for id in page.prefix(2) {
                    if let (claimed, worker) = held[id] { _ = try await bench.complete(claimed, worker) }
                }
                return Array(page.prefix(2))
            }
        },
    ]
}

extension BrokerBench {
    fileprivate func enqueue(limitKeys: [String]) async throws -> [OperationID] {
        let operations = limitKeys.map { key in
            NewOperation(
                envelope: OperationEnvelope(name: "check", arguments: [UInt8]("null".utf8)).encoded(),
                links: OperationLinks(limitKey: key)
            )
        }
        _ = try await broker.enqueue(operations, queue: queue)
        return operations.map(\.id)
    }

    /// Enqueues operations that wait in lanes, for a time and for limit keys, and cancels the queue.
    fileprivate func enqueueAndCancel() async throws -> [OperationID] {
        let ids = try await enqueue(7) + enqueue(7, priority: .high) + enqueue(7, delay: 60_000)
        let ofKeys = try await enqueue(limitKeys: (0..<24).map { "k\($0 % 3)" })
        _ = try await cancelQueue()
        return ids + ofKeys
    }

    /// Walks over a state in small pages and expects each operation that stays exactly once.
    ///
    /// - Parameters:
    ///   - maySeeTwice: whether operations move to another place of the same state meanwhile.
    ///   - body: called after each page, changes the queue; returns the operations that have left the state.
    fileprivate func expectWalk(
        over state: OperationState,
        of ids: [OperationID],
        maySeeTwice: Bool = false,
        _ body: ([OperationID]) async throws -> [OperationID]
    ) async throws {
        var (seen, gone): ([OperationID], [OperationID]) = ([], [])
        var cursor: String?
        repeat {
            let page = try await broker.page(state: state, queue: queue, cursor: cursor, limit: 6)
            // A walk may also continue behind the third row of a page.
            let isWhole = page.operations.count < 6
            let rows = isWhole ? page.operations : Array(page.operations.prefix(3))
            cursor = isWhole ? page.cursor : page.places[2]
            seen += rows.map(\.id)
            gone += try await body(rows.map(\.id))
        } while cursor != nil
        if !maySeeTwice { try expect(Set(seen).count, seen.count, "no row comes twice") }
        try expect(Set(ids).subtracting(seen).isSubset(of: gone), true, "all remaining operations are found")
    }
}
