import Foundation

/// Encodes operations of one type as JSON, and applies their options.
///
/// Encoding takes about as long as the calls that enqueue many operations, so large enqueues are encoded in parallel.
/// All of them are encoded before the first call: if one value cannot be encoded, nothing is enqueued.
struct Encoding<Body: OperationArguments>: Sendable {
    /// The options that all operations share.
    let options: EnqueueOptions
    /// All options of each operation, in order; nil = every operation has the shared options.
    let own: [EnqueueOptions]?
    /// Milliseconds of server time; see `EnqueueOptions.operation`.
    let serverTime: Int64?

    /// The number of operations that one task encodes at least, and after which it yields its thread.
    private static var part: Int { 1000 }

    /// - Throws: errors of the encoder and of `EnqueueOptions.operation`; `CancellationError` if more than 1,000
    ///   operations are encoded and the task is cancelled.
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
            // The parallel tasks made ids that are not in order.
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
