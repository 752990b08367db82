import SluiceCLI

// Operations that enqueue others, for scenarios in which their workers are killed.

/// Enqueues `count` programs in `queue`, which start with its completion, and takes `milliseconds`.
///
/// Each program finds the parent and its fence in its environment.
struct Brood: DistributedOperation {
    static let name = "test.brood"
    let argv: [String]
    let count: Int
    let milliseconds: Int
    let queue: String

    func main(_ context: OperationContext) async throws {
        let words = ["env", "PARENT=\(context.id)", "PARENT_FENCE=\(try context.fence)"] + argv
        for _ in 0..<count {
            try await context.enqueue(
                name: "exec",
                arguments: try JSONArguments(encoding: ["argv": words]),
                .queue(queue),
                .withCompletion
            )
        }
        try await Task.sleep(for: .milliseconds(milliseconds))
    }
}

/// Takes `milliseconds` and adds `count` operations of its kind to its groups, in `queue`.
///
/// Each child adds one fewer, in the queue of its parent.
struct Crawl: DistributedOperation {
    static let name = "test.crawl"
    let count: Int
    let milliseconds: Int
    let queue: String

    func main(_ context: OperationContext) async throws {
        let child = Crawl(count: count - 1, milliseconds: milliseconds, queue: context.queue)
        for group in try await context.groups() {
            for number in 0..<count {
                let id = OperationID(key: "\(context.id) \(number)")
                try await context.enqueue(child, .queue(queue), .id(id), .group(group))
            }
        }
        try await Task.sleep(for: .milliseconds(milliseconds))
    }
}
