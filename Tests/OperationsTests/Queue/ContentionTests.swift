import Foundation
import Operations
import Testing

/// Races of several tasks on one operation. Run with the thread sanitizer: `scripts/test --tsan`.
@Suite("One operation used by many tasks", .timeLimit(.minutes(60)))
struct ContentionTests {
    @Test("Tasks may wait, observe and add hooks while an executor task starts the operation")
    func waiting() async throws {
        let queue = LocalOperationQueue(maxConcurrentOperationCount: 2)
        for number in 0..<300 {
            let operation = queue.add { number }
            async let end = operation.waitUntilFinished()
            async let value = operation.value
            operation.onEnd { _ in }
            operation.cancel()
            _ = operation.changes
            #expect(try await end.isTerminal)
            _ = try? await value
        }
    }

    @Test("Tasks may wait while an operation is started by hand")
    func starting() async throws {
        for number in 0..<300 {
            let operation = ValueOperation { number }
            async let started = operation.start()
            async let end = operation.waitUntilFinished()
            #expect(try await started == .finished)
            #expect(try await end == .finished)
        }
    }

    @Test("A body that was given up may return while another task reads the result")
    func stuck() async throws {
        for _ in 0..<100 {
            let (clock, gate) = (TestClock(), Gate())
            let queue = LocalOperationQueue(clock: clock)
            let operation = queue.add(LocalOperationOptions(runTimeout: .seconds(1), grace: .seconds(1))) {
                await gate.wait()
            }
            await clock.journal.wait(count: 1)
            clock.advance(by: .seconds(1))
            await clock.journal.wait(count: 2)
            clock.advance(by: .seconds(1))
            #expect(try await operation.waitUntilFinished() == .dead)
            gate.open()
            #expect(throws: OperationsError.self) { try operation.result?.get() }
        }
    }
}
