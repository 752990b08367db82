import Foundation

/// Makes operations of a type: its values as JSON, and what the options say of all of them.
///
/// Foundation's encoder takes about as long as the calls that enqueue many, so many are encoded in parallel. All of it before the first is
/// sent: if one value cannot be encoded, nothing is enqueued.
struct Encoding<Body: DistributedOperation>: Sendable {
    /// What is the same for all.
    let options: EnqueueOptions
    /// All options of each operation, in order; nil = they are the same.
    let own: [EnqueueOptions]?
    /// See `EnqueueOptions.operation`.
    let serverTime: Int64?

    /// As many are worth a task, and after as many others get the thread: there are no more threads than processors.
    private static var part: Int { 1000 }

    /// - Throws: what the encoder throws, or `EnqueueOptions.operation`; `CancellationError` if there are many and the task is cancelled.
    func operations(_ bodies: [Body]) async throws -> [NewOperation] {
        guard bodies.count > Self.part else { return try encoded(bodies[...]) }
        return try await inParallel(bodies)
    }

    private func inParallel(_ bodies: [Body]) async throws -> [NewOperation] {
        let processors = ProcessInfo.processInfo.activeProcessorCount
        let size = max(Self.part, (bodies.count + processors - 1) / processors)
        return try await withThrowingTaskGroup(of: (Int, [NewOperation]).self) { group in
            for first in stride(from: 0, to: bodies.count, by: size) {
                group.addTask { (first, try await encodedInParts(bodies[first..<min(first + size, bodies.count)])) }
            }
            var shares: [Int: [NewOperation]] = [:]
            for try await (first, share) in group { shares[first] = share }
            var operations: [NewOperation] = []
            operations.reserveCapacity(bodies.count)
            for (_, share) in shares.sorted(by: { $0.key < $1.key }) { operations += share }
            // The tasks made ids that grow in no order.
            for index in operations.indices where own?[index].id == nil { operations[index].id = OperationID() }
            return operations
        }
    }

    private func encodedInParts(_ bodies: ArraySlice<Body>) async throws -> [NewOperation] {
        var operations: [NewOperation] = []
        operations.reserveCapacity(bodies.count)
        for first in stride(from: bodies.startIndex, to: bodies.endIndex, by: Self.part) {
            operations += try encoded(bodies[first..<min(first + Self.part, bodies.endIndex)])
            try Task.checkCancellation()
            await Task.yield()
        }
        return operations
    }

    private func encoded(_ bodies: ArraySlice<Body>) throws -> [NewOperation] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes]
        return try bodies.indices.map { index in
            try (own?[index] ?? options).operation(
                name: Body.name,
                arguments: Array(encoder.encode(bodies[index])),
                retry: Body.retryPolicy,
                serverTime: serverTime
            )
        }
    }
}
