import Foundation
import Operations
import TestTools
import Testing

@testable import custom_operation

@Suite("Custom operation", .timeLimit(.minutes(60)))
struct CustomOperationTests {
    @Test("The program shows the mistake by its time limit, cancels a working operation, and exits with 0")
    func program() async throws {
        let outcome = try await Program.run("custom-operation", [])
        #expect(outcome.code == 0, "\(outcome.output)\(outcome.errors)")
        let story = outcome.output.split(separator: "\n").map { $0.drop { " .0123456789s".contains($0) } }
        for line in ["forgetful is stuck", "forgetful is dead", "next is finished", "fetch 3 is cancelled"] {
            #expect(story.contains { $0 == line }, "\(line)")
        }
        #expect(outcome.output.split(separator: "\n").filter { $0.hasPrefix("✓") }.count == 7)
    }

    @Test("A cancel at any moment ends a correct operation", arguments: 0..<40)
    func cancel(round: Int) async throws {
        let queue = LocalOperationQueue(maxConcurrentOperationCount: 2)
        let fetches = (0..<4).map { Fetch("\($0)", duration: .seconds(600)) }
        let operations = try fetches.map { try queue.add(foundation: $0) }
        for _ in 0..<round { await Task.yield() }
        for operation in operations { operation.cancel() }
        try await queue.waitUntilAllOperationsAreFinished()
        #expect(operations.allSatisfy { $0.state == .cancelled })
        // A queue finishes an operation that never started a moment later.
        try await eventually("all are finished") { fetches.allSatisfy(\.isFinished) }
        #expect(fetches.allSatisfy { $0.isCancelled && !$0.isExecuting })
    }

    @Test("The subclass does not depend on the local queue: Foundation's queue runs it as well")
    func foundation() async throws {
        let queue = OperationQueue()
        let fetches = (0..<3).map { Fetch("\($0)", duration: .milliseconds(10)) }
        for fetch in fetches { queue.addOperation(fetch) }
        try await eventually("Foundation's queue is empty") { queue.operationCount == 0 }
        #expect(fetches.allSatisfy { $0.isFinished && !$0.isExecuting })
    }
}
