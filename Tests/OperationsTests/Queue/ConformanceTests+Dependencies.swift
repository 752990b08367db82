import Foundation
import Operations
import Testing

extension ConformanceTests {
    // MARK: Dependencies

    @Test("An operation waits for all of its dependencies", arguments: both)
    func dependencies(_ implementation: Implementation) async throws {
        let (queue, journal, gate) = (implementation.queue(3), Journal(), Gate())
        let (first, second) = (
            implementation.operation("a", journal), implementation.operation("b", journal, gate: gate)
        )
        let last = implementation.operation("c", journal)
        try last.depend(on: first)
        try last.depend(on: second)
        #expect(!last.isReady)
        #expect(last.dependencyCount == 2)
        for operation in [last, second, first] { queue.add(operation) }
        await first.finished()
        #expect(!last.isReady && !last.isExecuting)
        gate.open()
        await queue.allFinished()
        #expect(journal.entries.suffix(2) == ["+c", "-c"])
    }

    @Test("A dependency on an ended operation does not block", arguments: both)
    func endedDependency(_ implementation: Implementation) async throws {
        let journal = Journal()
        let (first, second) = (implementation.operation("a", journal), implementation.operation("b", journal))
        try await first.start()
        try second.depend(on: first)
        #expect(second.isReady)
        // Foundation also lists ended dependencies; Sluice lists only the unfinished ones.
        #expect(second.dependencyCount == (implementation == .sluice ? 0 : 1))
    }

    @Test("A dependency may be in another queue", arguments: both)
    func acrossQueues(_ implementation: Implementation) async throws {
        let (left, right) = (implementation.queue(), implementation.queue())
        let (journal, gate) = (Journal(), Gate())
        let (first, second) = (
            implementation.operation("a", journal, gate: gate), implementation.operation("b", journal)
        )
        try second.depend(on: first)
        right.add(second)
        left.add(first)
        await journal.wait(for: "+a")
        #expect(!second.isReady)
        gate.open()
        await second.finished()
        #expect(journal.entries == ["+a", "-a", "+b", "-b"])
    }

    @Test("As in Foundation, a cancelled dependency counts as ended, and the dependent runs", arguments: both)
    func cancelledDependency(_ implementation: Implementation) async throws {
        let (queue, journal) = (implementation.queue(), Journal())
        let (first, second) = (implementation.operation("a", journal), implementation.operation("b", journal))
        try second.depend(on: first)
        first.cancel()
        queue.add(first)
        queue.add(second)
        await queue.allFinished()
        #expect(journal.entries == ["+b", "-b"])
        #expect(!second.isCancelled)
    }

    @Test("Removing the only dependency makes the operation ready, except with Foundation on Linux", arguments: both)
    func removingDependency(_ implementation: Implementation) throws {
        let journal = Journal()
        let (first, second) = (implementation.operation("a", journal), implementation.operation("b", journal))
        try second.depend(on: first)
        #expect(!second.isReady)
        second.undepend(on: first)
        #expect(second.dependencyCount == 0)
        switch implementation {
        case .sluice: #expect(second.isReady)
        case .foundation:
            #if canImport(Darwin)
                #expect(second.isReady)
            #else
                // Foundation's trap: on Linux the operation never becomes ready again.
                #expect(!second.isReady)
            #endif
        }
    }

    @Test("Sluice refuses a dependency cycle; Foundation accepts it and runs neither operation", arguments: both)
    func cycle(_ implementation: Implementation) async throws {
        let (queue, journal) = (implementation.queue(2), Journal())
        let (first, second) = (implementation.operation("a", journal), implementation.operation("b", journal))
        try second.depend(on: first)
        switch implementation {
        case .sluice:
            let error = #expect(throws: OperationsError.self) { try first.depend(on: second) }
            #expect(error?.message.contains("a → b → a") == true)
            #expect(first.isReady)
        case .foundation:
            // Foundation's trap: no error is reported, and neither operation ever runs.
            try first.depend(on: second)
            #expect(!first.isReady && !second.isReady)
            first.undepend(on: second)
            first.cancel()
            second.cancel()
        }
        queue.add(first)
        queue.add(second)
        await queue.allFinished()
        #expect(journal.entries == (implementation == .sluice ? ["+a", "-a", "+b", "-b"] : []))
    }

    // MARK: Barriers, waiting, completion, lifetime

    @Test("A barrier waits for what was added before and holds back what is added later", arguments: both)
    func barrier(_ implementation: Implementation) async {
        let (queue, journal, gate) = (implementation.queue(4), Journal(), Gate())
        for name in ["a", "b"] { queue.add(implementation.operation(name, journal, gate: gate)) }
        queue.addBarrier("wall", journal)
        let later = ["c", "d"].map { implementation.operation($0, journal) }
        for operation in later { queue.add(operation) }
        await journal.wait(count: 2)
        #expect(!later.contains { $0.isReady })
        gate.open()
        await queue.allFinished()
        let entries = journal.entries
        #expect(entries.firstIndex(of: "|wall") == 4)
        #expect(Set(entries.prefix(4)) == ["+a", "+b", "-a", "-b"])
        #expect(Set(entries.suffix(4)) == ["+c", "+d", "-c", "-d"])
    }

    @Test("Waiting for an empty queue returns at once", arguments: both)
    func waitEmpty(_ implementation: Implementation) async {
        await implementation.queue().allFinished()
    }

    @Test("Many tasks can wait for one operation, also after its end", arguments: both)
    func manyWait(_ implementation: Implementation) async {
        let (queue, journal, gate) = (implementation.queue(), Journal(), Gate())
        let operation = implementation.operation("a", journal, gate: gate)
        queue.add(operation)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 { group.addTask { await operation.finished() } }
            await journal.wait(for: "+a")
            gate.open()
        }
        await operation.finished()
        #expect(operation.isFinished)
    }

    @Test("The completion hook runs once, after the end", arguments: both)
    func completion(_ implementation: Implementation) async {
        let (queue, journal) = (implementation.queue(), Journal())
        let operation = implementation.operation("a", journal)
        operation.onEnd { [weak operation] in journal.note("hook \(operation?.isFinished ?? false)") }
        queue.add(operation)
        await journal.wait(for: "hook true")
        #expect(journal.entries == ["+a", "-a", "hook true"])
    }

    @Test("A cancelled operation also runs its completion hook", arguments: both)
    func completionOfCancelled(_ implementation: Implementation) async {
        let (queue, journal) = (implementation.queue(), Journal())
        let operation = implementation.operation("a", journal)
        operation.onEnd { journal.note("hook") }
        operation.cancel()
        queue.add(operation)
        await journal.wait(for: "hook")
        #expect(journal.entries == ["hook"])
    }

    @Test("With one slot, Sluice runs completion hooks in order; Foundation promises no order", arguments: both)
    func completionOrder(_ implementation: Implementation) async {
        let (queue, journal) = (implementation.queue(suspended: true), Journal())
        for number in 0..<20 {
            let operation = implementation.operation("\(number)", Journal())
            operation.onEnd { journal.note("\(number)") }
            queue.add(operation)
        }
        queue.isSuspended = false
        await journal.wait(count: 20)
        switch implementation {
        case .sluice: #expect(journal.entries == (0..<20).map(String.init))
        case .foundation: #expect(Set(journal.entries) == Set((0..<20).map(String.init)))
        }
    }

    @Test("A queue keeps its operations alive until they end, and no longer", arguments: both)
    func lifetime(_ implementation: Implementation) async {
        let (queue, journal, gate) = (implementation.queue(), Journal(), Gate())
        let probe = Probe()
        let released = Gate()
        probe.value.withLock { $0 = Released { released.open() } }
        queue.add(implementation.holding(probe, journal, gate: gate))
        await journal.wait(for: "+held")
        gate.open()
        await queue.allFinished()
        probe.value.withLock { $0 = nil }
        await released.wait()
    }

    @Test("Operations run to their end after their queue is released", arguments: both)
    func releasedQueue(_ implementation: Implementation) async {
        let (journal, gate) = (Journal(), Gate())
        do {
            let queue = implementation.queue()
            queue.add(implementation.operation("a", journal, gate: gate))
            queue.add(implementation.operation("b", journal))
        }
        gate.open()
        await journal.wait(for: "-b")
        #expect(journal.entries == ["+a", "-a", "+b", "-b"])
    }
}
