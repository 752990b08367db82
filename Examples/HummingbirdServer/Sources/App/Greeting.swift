import Operations

/// The work that a request leaves to the worker. A module that depends on `Operations` alone could have it.
struct Greeting: DistributedOperation {
    static let name = "greeting"
    let name: String

    func main(_ context: OperationContext) async throws -> String {
        context.progress(0.5, "thinking of \(name)")
        try await Task.sleep(for: .seconds(1))
        try await context.enqueue(Note(text: "greeted \(name)"), .queue("notes"), .withCompletion)
        return "Hello, \(name) of \(Tenant.current ?? "nowhere")!"
    }
}

/// The work of another service.
struct Note: OperationArguments {
    static let name = "note"
    let text: String
}
