import Foundation
import Operations

extension BenchOperations {
    /// Computes for `seconds` without yielding its thread, and ignores every cancel.
    ///
    /// The operation writes its start and its end to the file `ledger`, as the operations of `scripts/faults` do.
    static let spin = OperationHandler(name: "test.spin", retryPolicy: RetryPolicy(attempts: 1)) { json, context in
        let arguments = try JSONValue(parsing: json)
        let ledger = arguments["ledger"]?.stringValue
        note("start", context, ledger)
        let end = ContinuousClock.now + .seconds(arguments["seconds"]?.doubleValue ?? 0)
        var turns = 0
        while ContinuousClock.now < end { turns &+= 1 }
        context.progress(1, "after its end")
        note("end", context, ledger)
        return Array("\(turns)".utf8)
    }

    /// Appends a line to a file with one write, so that lines do not mix.
    private static func note(_ what: String, _ context: OperationContext, _ ledger: String?) {
        guard let ledger else { return }
        let time = Date().timeIntervalSince1970
        let fence = (try? context.fence).map { "\($0)" } ?? "0"
        let line = "\(context.id) \(what) \(context.attempt) \(context.delivery) \(fence) \(time)\n"
        let file = open(ledger, O_WRONLY | O_APPEND | O_CREAT, 0o600)
        defer { close(file) }
        _ = line.withCString { write(file, $0, strlen($0)) }
    }
}
