import Sluice

/// The work that the server leaves to the worker.
struct Greeting: DistributedOperation {
    static let name = "greeting"
    let who: String

    func main(_ context: OperationContext) async throws -> String {
        context.progress(0.5, "thinking of \(who)")
        try await Task.sleep(for: .seconds(1))
        return "Hello, \(who)!"
    }
}
