import Foundation
import Testing

@testable import Operations

@Suite("Keyed operations", .timeLimit(.minutes(60)))
struct KeyedOperationTests {
    private func keyed(
        _ queue: LocalOperationQueue,
        freshFor: Duration = .zero,
        results: Int = 10,
        now: NowBox = NowBox()
    ) -> KeyedOperations<String, Int> {
        KeyedOperations(queue: queue, freshFor: freshFor, maximumResults: results) { now.now }
    }

    @Test("join: all callers for a key get one operation, and it runs once")
    func join() async throws {
        let (queue, gate) = (LocalOperationQueue(), Gate())
        let keyed = keyed(queue)
        let runsBox = WorkerCounters()
        let values = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<50 {
                group.addTask {
                    try await keyed.run("icon") {
                        await gate.wait()
                        return runsBox.next()
                    }.value
                }
            }
            gate.open()
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        // Without `freshFor`, a second operation may start after the first one ends. Two never run at a time.
        #expect(values.count == runsBox.count)
        #expect(keyed.operation(for: "icon") == nil)
    }

    @Test("join: a key with a running operation returns that operation; other keys are not blocked")
    func joined() async throws {
        let (queue, gate) = (LocalOperationQueue(), Gate())
        let keyed = keyed(queue)
        let first = keyed.run("a") {
            await gate.wait()
            return 1
        }
        let second = keyed.run("a") { 2 }
        let other = keyed.run("b") { 3 }
        #expect(first.origin == .started && second.origin == .joined && other.origin == .started)
        #expect(first.operation === second.operation)
        #expect(try await other.value == 3)
        gate.open()
        #expect(try await second.value == 1)
    }

    @Test("replace: the earlier operation is cancelled, the latest one runs, and two never run at a time")
    func replace() async throws {
        let (queue, journal, gate, stored) = (LocalOperationQueue(), Journal(), Gate(), Gate())
        let keyed = keyed(queue, freshFor: .seconds(60))
        let first = keyed.run("sync", ifExists: .replace) {
            journal.note("+1")
            await gate.wait()
            journal.note("-1")
            return 1
        }
        await journal.wait(for: "+1")
        let second = keyed.run("sync", ifExists: .replace) {
            journal.note("+2")
            return 2
        }
        let third = keyed.run("sync", ifExists: .replace) {
            journal.note("+3")
            return 3
        }
        #expect(second.operation.state == .cancelled)
        #expect(first.operation.isCancelled && third.origin == .replaced)
        #expect(third.operation.state == .blocked)
        // Hooks run in their order, so this one runs after the one that stores the result.
        third.operation.onEnd { _ in stored.open() }
        gate.open()
        #expect(try await third.value == 3)
        await stored.wait()
        #expect(journal.entries == ["+1", "-1", "+3"])
        // The first operation returned a result despite its cancel; the stored result is the latest one.
        #expect(keyed.freshValue(for: "sync") == 3)
    }

    @Test("skip: nothing runs while an operation is in flight or its result is fresh")
    func skip() async throws {
        let (queue, gate, stored, now) = (LocalOperationQueue(), Gate(), Gate(), NowBox())
        let keyed = keyed(queue, freshFor: .seconds(60), now: now)
        let first = keyed.run("a", ifExists: .skip) {
            await gate.wait()
            return 1
        }
        #expect(keyed.run("a", ifExists: .skip) { 2 }.origin == .skipped)
        // Hooks run in their order, so this one runs after the one that stores the result.
        first.operation.onEnd { _ in stored.open() }
        gate.open()
        #expect(try await first.value == 1)
        await stored.wait()
        now.advance(by: .seconds(59))
        let fresh = keyed.run("a", ifExists: .skip) { 3 }
        #expect(fresh.origin == .skipped)
        #expect(try await fresh.value == 1)
        #expect(keyed.run("a") { 4 }.origin == .fresh)
        now.advance(by: .seconds(1))
        let late = keyed.run("a", ifExists: .skip) { 5 }
        #expect(late.origin == .started)
        #expect(try await late.value == 5)
        keyed.invalidate("a")
        #expect(keyed.run("a", ifExists: .skip) { 6 }.origin == .started)
    }

    @Test("enqueue: operations run one after the other, in order, also after a failure")
    func enqueue() async throws {
        let (queue, journal, gate) = (LocalOperationQueue(), Journal(), Gate())
        let keyed = keyed(queue)
        let operations = (0..<5).map { number in
            keyed.run("row", ifExists: .enqueue) {
                journal.note("+\(number)")
                await gate.wait()
                journal.note("-\(number)")
                if number == 2 { throw Oops() }
                return number
            }
        }
        gate.open()
        #expect(try await operations[4].value == 4)
        #expect(journal.entries == (0..<5).flatMap { ["+\($0)", "-\($0)"] })
        #expect(operations[2].operation.state == .dead)
    }

    @Test("A failure is not stored as a result, and a cancelled operation is not joined")
    func failures() async throws {
        let (queue, journal, gate) = (LocalOperationQueue(), Journal(), Gate())
        let keyed = keyed(queue, freshFor: .seconds(60))
        await #expect(throws: Oops.self) { try await keyed.run("a") { throw Oops() }.value }
        let first = keyed.run("a") {
            journal.note("in")
            await gate.wait()
            return 1
        }
        #expect(first.origin == .started)
        await journal.wait(for: "in")
        keyed.cancel("a")
        let second = keyed.run("a") { 2 }
        #expect(second.operation !== first.operation && second.operation.state == .blocked)
        gate.open()
        #expect(try await second.value == 2)
    }

    @Test("Cancelling a key cancels all its operations")
    func cancelKey() async throws {
        let (queue, journal, gate) = (LocalOperationQueue(), Journal(), Gate())
        let keyed = keyed(queue)
        let operations = (0..<4).map { _ in
            keyed.run("a", ifExists: .enqueue) {
                journal.note("in")
                await gate.wait()
                return 1
            }.operation
        }
        await journal.wait(for: "in")
        keyed.cancel("a", reason: "gone")
        #expect(operations.dropFirst().allSatisfy { $0.state == .cancelled })
        #expect(operations[0].cancelReason == "gone")
        gate.open()
        try await queue.waitUntilAllOperationsAreFinished()
    }

    @Test("keepLatest: the executing operation continues, and only the latest waiting one remains")
    func keepLatest() async throws {
        let (queue, journal, gate) = (LocalOperationQueue(), Journal(), Gate())
        let keyed = keyed(queue)
        let first = keyed.run("a", ifExists: .keepLatest) {
            journal.note("first")
            await gate.wait()
            return 0
        }
        await journal.wait(for: "first")
        let later = (1...3).map { number in keyed.run("a", ifExists: .keepLatest) { number } }
        #expect(first.origin == .started && later.map(\.origin) == [.enqueued, .replaced, .replaced])
        #expect(later.dropLast().allSatisfy { $0.operation.state == .cancelled })
        gate.open()
        #expect(try await first.value == 0)
        #expect(try await later[2].value == 3)
    }

    @Test("debounce: only the last operation of a burst runs, once, and not before its time")
    func debounce() async throws {
        let (queue, journal) = (LocalOperationQueue(maxConcurrentOperationCount: 4), Journal())
        let keyed = keyed(queue)
        let time = Duration.seconds(1)
        let started = ContinuousClock.now
        let burst = (0..<20).map { number in
            // A slow machine needs seconds for the burst, so the earlier ones wait for much longer.
            keyed.run("a", ifExists: .debounce(number == 19 ? time : .seconds(60))) {
                journal.note("\(number)")
                return number
            }
        }
        #expect(try await burst[19].value == 19)
        #expect(ContinuousClock.now - started >= time)
        #expect(journal.entries == ["19"])
        #expect(burst.dropLast().allSatisfy { $0.operation.state == .cancelled })
    }

    // MARK: One step

    @Test(
        "Keyed runs and barriers added at the same time are all accepted, and all end",
        arguments: [
            [DuplicatePolicy.enqueue, .replace], [.enqueue, .enqueue], [.replace, .join], [.skip, .replace],
        ]
    )
    func barriers(policies: [DuplicatePolicy]) async throws {
        let queue = LocalOperationQueue(maxConcurrentOperationCount: 4)
        let keyed = keyed(queue)
        await withTaskGroup(of: Void.self) { group in
            for policy in policies {
                group.addTask { for number in 0..<1000 { keyed.run("k", ifExists: policy) { number } } }
            }
            group.addTask { for _ in 0..<1000 { queue.addBarrier {} } }
        }
        try await queue.waitUntilAllOperationsAreFinished()
        #expect(keyed.operation(for: "k") == nil)
    }

    @Test("A cancel handler of replace may use the key and add a barrier: the replacement is already in the queue")
    func barrierFromCancel() async throws {
        let (queue, journal, gate) = (LocalOperationQueue(), Journal(), Gate())
        let keyed = keyed(queue)
        keyed.run("k") {
            await withTaskCancellationHandler {
                journal.note("former")
                await gate.wait()
            } onCancel: {
                keyed.run("k", ifExists: .enqueue) {
                    journal.note("from the cancel")
                    return 3
                }
                queue.addBarrier { journal.note("barrier") }
                gate.open()
            }
            return 1
        }
        await journal.wait(for: "former")
        let latest = keyed.run("k", ifExists: .replace) {
            journal.note("latest")
            return 2
        }
        #expect(try await latest.value == 2)
        await journal.wait(for: "barrier")
        #expect(journal.entries == ["former", "latest", "from the cancel", "barrier"])
    }

    @Test("A joined operation is already in its queue: adding it elsewhere is refused, and it runs once")
    func joinedIsInItsQueue() async throws {
        let (queue, other) = (LocalOperationQueue(maxConcurrentOperationCount: 2), LocalOperationQueue())
        let keyed = keyed(queue)
        for number in 0..<500 {
            let key = "\(number)"
            await withTaskGroup(of: Void.self) { group in
                group.addTask { keyed.run(key) { number } }
                group.addTask {
                    guard let found = keyed.operation(for: key) else { return }
                    #expect(throws: OperationsError.self) { try other.add(found) }
                }
            }
            #expect(try await keyed.run(key) { number }.value == number)
        }
    }

    @Test("The cache drops results by age, and the oldest when it is full")
    func cache() {
        var cache = ResultCache<Int, String, ContinuousClock.Instant>(maximumAge: .seconds(10), maximumCount: 3)
        let start = ContinuousClock.now
        for number in 0..<5 { cache.insert("\(number)", for: number, at: start + .seconds(number)) }
        let now = start + .seconds(5)
        #expect((0..<5).map { cache.entry(for: $0, at: now) } == [nil, nil, "2", "3", "4"])
        cache.insert("new 2", for: 2, at: now)
        cache.insert("5", for: 5, at: now)
        #expect(cache.entry(for: 3, at: now) == nil && cache.entry(for: 2, at: now) == "new 2")
        #expect(cache.entry(for: 4, at: start + .seconds(14)) == nil)
        #expect(cache.entry(for: 2, at: start + .seconds(14)) == "new 2")
        for number in 100..<10_000 { cache.insert("x", for: number, at: now) }
        #expect(cache.count == 3)
    }

    // MARK: Delivery

    @Test("A late result is not delivered to a slot that is reused")
    func delivery() async throws {
        let (queue, gate, slot) = (LocalOperationQueue(), Gate(), DeliverySlot())
        let shown = Journal()
        let old = slot.renew()
        let first = queue.add {
            await gate.wait()
            return "first row"
        }
        first.deliver(to: old) { shown.note((try? $0.get()) ?? "error") }
        let new = slot.renew()
        #expect(!old.isValid && new.isValid)
        let second = queue.add { "second row" }
        second.deliver(to: new) { shown.note((try? $0.get()) ?? "error") }
        _ = try await second.value
        gate.open()
        _ = try await first.value
        #expect(shown.entries == ["second row"])
        #expect(!old.deliver { shown.note("never") })
    }

    @Test("1,000 rows in 12 reused cells: each cell gets results only for the row that it shows")
    func scrolling() async throws {
        let queue = LocalOperationQueue(maxConcurrentOperationCount: 4)
        let cells = (0..<12).map { _ in Cell() }
        for row in 0..<1000 {
            let cell = cells[.random(in: cells.indices)]
            let token = cell.reuse(for: row)
            queue.add { row }.deliver(to: token) { cell.show(row: (try? $0.get()) ?? -1) }
        }
        try await queue.waitUntilAllOperationsAreFinished()
        for cell in cells { #expect(cell.wrong == 0) }
    }
}

private final class Cell: Sendable {
    let slot = DeliverySlot()
    private let state = Guarded((row: -1, wrong: 0))
    var wrong: Int { state.withLock { $0.wrong } }
    func reuse(for row: Int) -> DeliveryToken {
        let token = slot.renew()
        state.withLock { $0.row = row }
        return token
    }
    func show(row: Int) { state.withLock { if $0.row != row { $0.wrong += 1 } } }
}

private final class WorkerCounters: Sendable {
    private let number = Guarded(0)
    var count: Int { number.withLock { $0 } }
    func next() -> Int {
        number.withLock { number in
            number += 1
            return number
        }
    }
}

final class NowBox: Sendable {
    private let instant = Guarded(ContinuousClock.now)
    var now: ContinuousClock.Instant { instant.withLock { $0 } }
    func advance(by duration: Duration) { instant.withLock { $0 += duration } }
}
