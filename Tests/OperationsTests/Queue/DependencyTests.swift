import Foundation
import Testing

@testable import Operations

@Suite("Dependencies of local operations", .timeLimit(.minutes(60)))
struct DependencyTests {
    @Test("A failed dependency cancels its direct and indirect dependents, unless their policy differs")
    func failurePolicies() async throws {
        let queue = LocalOperationQueue()
        queue.isSuspended = true
        let failing = queue.add { throw Oops() }
        let dependents = try DependencyFailurePolicy.allCases.map { policy in
            let operation = ValueOperation {}
            try operation.addDependency(failing, onFailure: policy)
            try queue.add(operation)
            return (policy, operation)
        }
        let byPolicy = Dictionary(uniqueKeysWithValues: dependents)
        let (cancelled, held, run) = (
            try #require(byPolicy[.cancel]), try #require(byPolicy[.hold]), try #require(byPolicy[.run])
        )
        let grandchild = ValueOperation {}
        try grandchild.addDependency(cancelled)
        try queue.add(grandchild)
        queue.isSuspended = false
        #expect(try await run.waitUntilFinished() == .finished)
        #expect(try await cancelled.waitUntilFinished() == .cancelled)
        #expect(try await grandchild.waitUntilFinished() == .cancelled)
        #expect(cancelled.cancelReason == "a dependency ended as dead")
        #expect(held.state == .blocked)
        held.removeDependency(failing)
        #expect(try await held.waitUntilFinished() == .finished)
    }

    @Test("The policy of a held dependency may be changed after the failure")
    func changedPolicy() async throws {
        let (failing, held) = (ValueOperation { throw Oops() }, ValueOperation {})
        try held.addDependency(failing, onFailure: .hold)
        try await failing.start()
        #expect(held.state == .blocked)
        try held.addDependency(failing, onFailure: .run)
        #expect(held.state == .ready)
    }

    @Test("A held dependency on a released operation does not apply to a new operation at the same address")
    func sameAddress() throws {
        // The allocator reuses freed memory for one of the next operations. If another test takes that memory, the next
        // round tries again.
        for _ in 0..<10_000 {
            let held = ValueOperation {}
            guard let other = try Self.operationAtAddressOfHeldOne(held) else { continue }
            other.cancel()
            try held.addDependency(other, onFailure: .run)
            #expect(held.state == .blocked)
            return
        }
        Issue.record("no address was used again")
    }

    /// Returns an operation at the address of a released one on which `held` has a held dependency. Returns nil if the
    /// address is not reused at once.
    private static func operationAtAddressOfHeldOne(_ held: LocalOperation) throws -> LocalOperation? {
        var gone: LocalOperation? = ValueOperation {}
        let address = try ObjectIdentifier(#require(gone))
        try held.addDependency(#require(gone), onFailure: .hold)
        gone?.cancel()
        gone = nil
        let others: [LocalOperation] = (0..<10).map { _ in ValueOperation {} }
        return others.first { ObjectIdentifier($0) == address }
    }

    @Test("A cycle over several operations and queues is refused, and the message names the path")
    func longCycle() throws {
        let names = ["a", "b", "c", "d"]
        let operations = names.map { ValueOperation(LocalOperationOptions(name: $0)) {} }
        let queues = [LocalOperationQueue(), LocalOperationQueue()]
        for queue in queues { queue.isSuspended = true }
        for (index, operation) in operations.enumerated() { try queues[index % 2].add(operation) }
        for (below, above) in zip(operations.dropFirst(), operations) { try below.addDependency(above) }
        let error = #expect(throws: OperationsError.self) { try operations[0].addDependency(operations[3]) }
        #expect(error?.message.contains("a → d → c → b → a") == true, "\(error?.message ?? "")")
        #expect(throws: OperationsError.self) { try operations[1].addDependency(operations[1]) }
        #expect(operations[0].isReady)
    }

    @Test("Adding an operation behind a barrier is refused if an operation before the barrier depends on it")
    func cycleOverBarrier() throws {
        let queue = LocalOperationQueue()
        queue.isSuspended = true
        let (early, late) = (
            ValueOperation(LocalOperationOptions(name: "early")) {},
            ValueOperation(LocalOperationOptions(name: "late")) {}
        )
        try early.addDependency(late)
        try queue.add(early)
        queue.addBarrier {}
        let error = #expect(throws: OperationsError.self) { try queue.add(late) }
        #expect(error?.message.contains("barrier") == true)
        let other = queue.add {}
        #expect(throws: OperationsError.self) { try early.addDependency(other) }
    }

    @Test("A dependency on an operation that is released unrun counts as cancelled")
    func releasedDependency() throws {
        let (cancelled, runs) = (ValueOperation {}, ValueOperation {})
        do {
            let dropped = ValueOperation {}
            try cancelled.addDependency(dropped)
            try runs.addDependency(dropped, onFailure: .run)
        }
        #expect(cancelled.state == .cancelled)
        #expect(runs.state == .ready)
    }

    @Test("A chain of 100,000 across two queues is cancelled without a stack overflow")
    func longCascade() throws {
        let queues = [LocalOperationQueue(), LocalOperationQueue()]
        for queue in queues { queue.isSuspended = true }
        var operations: [ValueOperation<Void>] = []
        for number in 0..<100_000 {
            let operation = ValueOperation {}
            if let last = operations.last { try operation.addDependency(last) }
            try queues[number % 2].add(operation)
            operations.append(operation)
        }
        operations[0].cancel()
        #expect(operations.allSatisfy { $0.state == .cancelled })
        #expect(queues[0].operationCount == 0 && queues[1].operationCount == 0)
    }

    @Test("A chain of 100,000 that never ran is released completely, without a stack overflow")
    func longRelease() async throws {
        let released = Gate()
        do {
            let held = Released { released.open() }
            var last: ValueOperation<Void>?
            for _ in 0..<100_000 {
                let operation = ValueOperation { withExtendedLifetime(held) {} }
                if let last { try last.addDependency(operation, onFailure: .run) }
                last = operation
            }
            #expect(last?.state == .ready)
        }
        await released.wait()
    }

    @Test("A dropped graph of operations keeps nothing alive", arguments: DependencyFailurePolicy.allCases)
    func droppedGraph(policy: DependencyFailurePolicy) async throws {
        let released = Gate()
        do {
            let held = Released { released.open() }
            let operations = (0..<10).map { _ in ValueOperation { withExtendedLifetime(held) {} } }
            for (index, operation) in operations.enumerated() {
                for dependency in operations[..<index] { try operation.addDependency(dependency, onFailure: policy) }
            }
            try await operations[0].start()
        }
        await released.wait()
    }
}
