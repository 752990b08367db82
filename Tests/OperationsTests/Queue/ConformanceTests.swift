import Foundation
import Operations
import Testing

/// Tests both queues against the behaviour that Foundation documents.
///
/// A test without a `switch` states common behaviour. Each `switch` is a difference; docs/decisions/0008-local-queue.md
/// gives the reason.
@Suite("Local queue and Foundation's", .serialized, .timeLimit(.minutes(60)))
struct ConformanceTests {
    static let both = Implementation.allCases

    // MARK: Order and counts

    @Test("With one slot, operations run in the order in which they were added", arguments: both)
    func order(_ implementation: Implementation) async {
        let (queue, journal) = (implementation.queue(), Journal())
        for number in 0..<50 { queue.add(implementation.operation("\(number)", journal)) }
        await queue.allFinished()
        #expect(journal.entries == (0..<50).flatMap { ["+\($0)", "-\($0)"] })
    }

    @Test("The count includes operations that were added and have not ended", arguments: both)
    func counts(_ implementation: Implementation) async {
        let (queue, journal, gate) = (implementation.queue(suspended: true), Journal(), Gate())
        #expect(queue.count == 0)
        queue.add(implementation.operation("a", journal, gate: gate))
        queue.add(implementation.operation("b", journal))
        #expect(queue.count == 2)
        queue.isSuspended = false
        await journal.wait(for: "+a")
        #expect(queue.count == 2)
        gate.open()
        await queue.allFinished()
        #expect(queue.count == 0)
    }

    @Test("The limit is never exceeded", arguments: both, [1, 2, 5])
    func limit(_ implementation: Implementation, _ limit: Int) async {
        let (queue, journal) = (implementation.queue(limit), Journal())
        for number in 0..<200 { queue.add(implementation.operation("\(number)", journal)) }
        await queue.allFinished()
        var (running, most) = (0, 0)
        for entry in journal.entries {
            running += entry.hasPrefix("+") ? 1 : -1
            most = max(most, running)
        }
        #expect(most <= limit)
        #expect(journal.entries.count == 400)
    }

    @Test("A raised limit takes effect while operations run; a lowered one lets them continue", arguments: both)
    func limitChanges(_ implementation: Implementation) async {
        let (queue, journal, gate) = (implementation.queue(), Journal(), Gate())
        for name in ["a", "b", "c", "d"] { queue.add(implementation.operation(name, journal, gate: gate)) }
        await journal.wait(for: "+a")
        queue.limit = 3
        await journal.wait(count: 3)
        #expect(Set(journal.entries) == ["+a", "+b", "+c"])
        queue.limit = 1
        gate.open()
        await queue.allFinished()
        #expect(journal.entries.suffix(2) == ["+d", "-d"])
    }

    @Test("The highest priority goes first; equal priorities run in the order of adding", arguments: both)
    func priorities(_ implementation: Implementation) async throws {
        let (queue, journal) = (implementation.queue(suspended: true), Journal())
        for priority in OperationPriority.allCases.shuffled() {
            for number in 0..<3 {
                let operation = implementation.operation("\(priority.lanePosition)\(number)", journal)
                operation.priority = priority
                queue.add(operation)
            }
        }
        queue.isSuspended = false
        await queue.allFinished()
        let starts = journal.entries.filter { $0.hasPrefix("+") }
        #expect(starts == (0..<5).flatMap { level in (0..<3).map { "+\(level)\($0)" } })
    }

    @Test("A priority may change while the operation waits", arguments: both)
    func priorityChange(_ implementation: Implementation) async {
        let (queue, journal) = (implementation.queue(suspended: true), Journal())
        let operations = ["a", "b", "c"].map { implementation.operation($0, journal) }
        for operation in operations { queue.add(operation) }
        operations[2].priority = .veryHigh
        operations[0].priority = .low
        #expect(operations[2].priority == .veryHigh)
        queue.isSuspended = false
        await queue.allFinished()
        #expect(journal.entries == ["+c", "-c", "+b", "-b", "+a", "-a"])
    }

    @Test("A blocked operation does not run before a ready one, whatever its priority", arguments: both)
    func readinessFirst(_ implementation: Implementation) async throws {
        let (queue, journal) = (implementation.queue(suspended: true), Journal())
        let (first, second) = (implementation.operation("low", journal), implementation.operation("high", journal))
        first.priority = .veryLow
        second.priority = .veryHigh
        try second.depend(on: first)
        queue.add(second)
        queue.add(first)
        queue.isSuspended = false
        await queue.allFinished()
        #expect(journal.entries == ["+low", "-low", "+high", "-high"])
    }

    @Test("An operation that becomes ready late keeps its place in the order of adding", arguments: both)
    func lateReadiness(_ implementation: Implementation) async throws {
        let (queue, other, journal, gate) = (implementation.queue(), implementation.queue(), Journal(), Gate())
        let (blocker, early) = (
            implementation.operation("x", journal, gate: gate), implementation.operation("early", journal)
        )
        let doorman = Gate()
        queue.add(implementation.operation("doorman", journal, gate: doorman))
        await journal.wait(for: "+doorman")
        try early.depend(on: blocker)
        queue.add(early)
        queue.add(implementation.operation("late", journal))
        other.add(blocker)
        gate.open()
        await blocker.finished()
        doorman.open()
        await queue.allFinished()
        #expect(journal.entries.suffix(4) == ["+early", "-early", "+late", "-late"])
    }

    // MARK: States

    @Test("An operation is ready, then executing, then finished", arguments: both)
    func states(_ implementation: Implementation) async {
        let (queue, journal, gate) = (implementation.queue(), Journal(), Gate())
        let operation = implementation.operation("a", journal, gate: gate)
        #expect(operation.isReady && !operation.isExecuting && !operation.isFinished && !operation.isCancelled)
        queue.add(operation)
        await journal.wait(for: "+a")
        #expect(operation.isExecuting && !operation.isFinished)
        gate.open()
        await operation.finished()
        #expect(!operation.isExecuting && operation.isFinished && !operation.isCancelled)
    }

    @Test("An operation runs without a queue when start is called", arguments: both)
    func start(_ implementation: Implementation) async throws {
        let journal = Journal()
        let operation = implementation.operation("a", journal)
        try await operation.start()
        #expect(operation.isFinished)
        #expect(journal.entries == ["+a", "-a"])
    }

    @Test("Starting a cancelled operation does not run the body, and the operation ends", arguments: both)
    func startCancelled(_ implementation: Implementation) async throws {
        let journal = Journal()
        let operation = implementation.operation("a", journal)
        operation.cancel()
        try await operation.start()
        #expect(operation.isFinished && operation.isCancelled)
        #expect(journal.entries.isEmpty)
    }

    @Test("The current queue is the one to which the operation was added", arguments: both)
    func current(_ implementation: Implementation) async {
        let (queue, journal) = (implementation.queue(), Journal())
        queue.add(implementation.operation(asking: journal))
        await queue.allFinished()
        #expect(journal.entries == ["q, asking"])
    }

    @Test("An operation runs only once: Sluice refuses a second start, Foundation ignores it", arguments: both)
    func singleShot(_ implementation: Implementation) async throws {
        let journal = Journal()
        let operation = implementation.operation("a", journal)
        try await operation.start()
        switch implementation {
        case .sluice: await #expect(throws: OperationsError.self) { try await operation.start() }
        case .foundation: try await operation.start()
        }
        #expect(journal.entries == ["+a", "-a"])
    }

    // MARK: Suspending

    @Test("A suspended queue starts nothing; running operations continue", arguments: both)
    func suspending(_ implementation: Implementation) async {
        let (queue, journal, gate) = (implementation.queue(), Journal(), Gate())
        let (first, second) = (
            implementation.operation("a", journal, gate: gate), implementation.operation("b", journal)
        )
        queue.add(first)
        queue.add(second)
        await journal.wait(for: "+a")
        queue.isSuspended = true
        gate.open()
        await first.finished()
        #expect(!second.isExecuting && !second.isFinished)
        queue.isSuspended = false
        await queue.allFinished()
        #expect(journal.entries == ["+a", "-a", "+b", "-b"])
    }

    @Test("Cancelling a suspended queue ends its operations at once; Foundation waits for the resume", arguments: both)
    func cancelAllSuspended(_ implementation: Implementation) async {
        let (queue, journal) = (implementation.queue(suspended: true), Journal())
        let operations = (0..<5).map { implementation.operation("\($0)", journal) }
        for operation in operations { queue.add(operation) }
        queue.cancelAll()
        #expect(operations.allSatisfy { $0.isCancelled })
        switch implementation {
        case .sluice:
            #expect(queue.count == 0)
            #expect(operations.allSatisfy { $0.isFinished })
        case .foundation:
            // Foundation's trap: the operations stay until the queue is resumed.
            #expect(queue.count == 5)
            queue.isSuspended = false
        }
        await queue.allFinished()
        #expect(journal.entries.isEmpty)
    }

    // MARK: Cancelling

    @Test("A waiting operation that is cancelled never runs, and it ends", arguments: both)
    func cancelWaiting(_ implementation: Implementation) async {
        let (queue, journal, gate) = (implementation.queue(), Journal(), Gate())
        let (first, second) = (
            implementation.operation("a", journal, gate: gate), implementation.operation("b", journal)
        )
        queue.add(first)
        queue.add(second)
        await journal.wait(for: "+a")
        second.cancel()
        #expect(second.isCancelled)
        // Foundation ends the operation when a slot is free; Sluice ends it at once.
        if implementation == .sluice { #expect(second.isFinished) }
        gate.open()
        await queue.allFinished()
        #expect(second.isFinished)
        #expect(journal.entries == ["+a", "-a"])
    }

    @Test("An executing operation that is cancelled continues until its body returns", arguments: both)
    func cancelExecuting(_ implementation: Implementation) async {
        let (queue, journal, gate) = (implementation.queue(), Journal(), Gate())
        let operation = implementation.operation("a", journal, gate: gate)
        queue.add(operation)
        await journal.wait(for: "+a")
        operation.cancel()
        #expect(operation.isCancelled && operation.isExecuting && !operation.isFinished)
        gate.open()
        await operation.finished()
        #expect(operation.isFinished && operation.isCancelled)
        #expect(journal.entries == ["+a", "-a"])
    }

    @Test("Cancelling after the end changes nothing", arguments: both)
    func cancelFinished(_ implementation: Implementation) async {
        let (queue, journal) = (implementation.queue(), Journal())
        let operation = implementation.operation("a", journal)
        queue.add(operation)
        await operation.finished()
        operation.cancel()
        #expect(!operation.isCancelled && operation.isFinished)
    }

    @Test("An operation cancelled before adding ends without running", arguments: both)
    func cancelBeforeAdding(_ implementation: Implementation) async {
        let (queue, journal) = (implementation.queue(), Journal())
        let operation = implementation.operation("a", journal)
        operation.cancel()
        #expect(operation.isCancelled)
        #expect(operation.isFinished == (implementation == .sluice))
        queue.add(operation)
        await queue.allFinished()
        #expect(operation.isFinished)
        #expect(journal.entries.isEmpty)
    }

    @Test("A blocked operation that is cancelled ends without waiting for its dependency", arguments: both)
    func cancelBlocked(_ implementation: Implementation) async throws {
        let (queue, journal, gate) = (implementation.queue(2), Journal(), Gate())
        let (first, second) = (
            implementation.operation("a", journal, gate: gate), implementation.operation("b", journal)
        )
        try second.depend(on: first)
        queue.add(first)
        queue.add(second)
        await journal.wait(for: "+a")
        second.cancel()
        await second.finished()
        #expect(second.isFinished && !first.isFinished)
        gate.open()
        await queue.allFinished()
    }
}

extension OperationPriority {
    /// 0 for the highest priority
    fileprivate var lanePosition: Int { (8 - queuePriority) / 4 }
}
