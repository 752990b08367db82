import Foundation
import SluiceCLI

/// Computes for `seconds` without yielding its thread, and ignores every cancel.
///
/// The operation writes its start and its end to the file `ledger`, as the operations of `scripts/faults` do.
struct Spin: DistributedOperation {
    static let name = "test.spin"
    static let retryPolicy = RetryPolicy(attempts: 1)
    let seconds: Double
    let ledger: String?

    func main(_ context: OperationContext) async throws -> Int {
        note("start", context)
        let end = ContinuousClock.now + .seconds(seconds)
        var turns = 0
        while ContinuousClock.now < end { turns &+= 1 }
        context.progress(1, "after its end")
        note("end", context)
        return turns
    }

    /// Appends a line to the ledger with one write, so that lines do not mix.
    private func note(_ what: String, _ context: OperationContext) {
        guard let ledger else { return }
        let time = Date().timeIntervalSince1970
        let fence = (try? context.fence).map { "\($0)" } ?? "0"
        let line = "\(context.id) \(what) \(context.attempt) \(context.delivery) \(fence) \(time)\n"
        let file = open(ledger, O_WRONLY | O_APPEND | O_CREAT, 0o600)
        defer { close(file) }
        _ = line.withCString { write(file, $0, strlen($0)) }
    }
}
