import SluiceCLI

// Operations that enqueue others, for scenarios in which their workers are killed.

/// Enqueues `count` programs in `queue`, which start with its completion, and then asks Redis `questions` times.
///
/// Each program finds the parent and its fence in its environment.
struct Brood: DistributedOperation {
    static let name = "test.brood"
    let argv: [String]
    let count: Int
    let questions: Int
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
        try await context.ask(questions)
    }
}

/// Adds `count` operations of its kind to its groups, in `queue`, and then asks Redis `questions` times.
///
/// Each child adds one fewer, in the queue of its parent.
struct Crawl: DistributedOperation {
    static let name = "test.crawl"
    let count: Int
    let questions: Int
    let queue: String

    func main(_ context: OperationContext) async throws {
        let child = Crawl(count: count - 1, questions: questions, queue: context.queue)
        for group in try await context.groups() {
            for number in 0..<count {
                let id = OperationID(key: "\(context.id) \(number)")
                try await context.enqueue(child, .queue(queue), .id(id), .group(group))
            }
        }
        try await context.ask(questions)
    }
}

extension OperationContext {
    /// Goes on for as long as some answers of Redis take, so that a worker can be killed in the middle of its body.
    fileprivate func ask(_ questions: Int) async throws {
        for _ in 0..<questions { _ = try await groups() }
    }
}
