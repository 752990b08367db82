import Foundation

/// Makes operations of a type: its values as JSON, and what the options say of all of them.
///
/// Foundation's encoder takes longer than everything else that an enqueue does, so many are encoded on all processors. All of it before
/// the first is sent: if one value cannot be encoded, nothing is enqueued.
struct Encoding<Body: DistributedOperation>: Sendable {
    let options: EnqueueOptions
    /// See `EnqueueOptions.operation`.
    let serverTime: Int64?

    /// As many as are worth a task.
    private static var part: Int { 1000 }

    /// - Throws: what the encoder throws, or `EnqueueOptions.operation`.
    func operations(_ bodies: [Body]) async throws -> [NewOperation] {
        guard bodies.count > Self.part else { return try encoded(bodies[...]) }
        var operations = try await inParallel(bodies)
        // In their order here as well.
        for index in operations.indices { operations[index].id = OperationID() }
        return operations
    }

    private func inParallel(_ bodies: [Body]) async throws -> [NewOperation] {
        let processors = ProcessInfo.processInfo.activeProcessorCount
        let size = max(Self.part, (bodies.count + processors - 1) / processors)
        return try await withThrowingTaskGroup(of: (Int, [NewOperation]).self) { group in
            for first in stride(from: 0, to: bodies.count, by: size) {
                group.addTask { (first, try encoded(bodies[first..<min(first + size, bodies.count)])) }
            }
            var parts: [Int: [NewOperation]] = [:]
            for try await (first, part) in group { parts[first] = part }
            return parts.sorted { $0.key < $1.key }.flatMap(\.value)
        }
    }

    private func encoded(_ bodies: ArraySlice<Body>) throws -> [NewOperation] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes]
        return try bodies.map { body in
            try options.operation(
                name: Body.name,
                arguments: Array(encoder.encode(body)),
                retry: Body.retryPolicy,
                serverTime: serverTime
            )
        }
    }
}
