import Operations
import SluiceOperator
import TerminalText

/// The operations that wait for the end of another one.
struct Dependents {
    /// The number in the queue of the operation.
    let count: Int
    /// Other queues that may have more.
    let queues: [String]

    init(of detail: OperationDetail, _ broker: any OperatorBroker) async throws {
        let first = try await broker.details(detail.links.dependents, queue: detail.queue)
        // A group counts its members, and none of their ends cancels it.
        count = max(0, detail.links.dependentCount - first.count { $0?.isGroup == true })
        queues = detail.links.dependentQueues
    }

    /// `2 operations depend on it`; nil = none does.
    var subject: String? {
        let others = queues.joined(separator: ", ")
        guard count > 0 else { return queues.isEmpty ? nil : "Operations in queue \(others) may depend on it" }
        let own = count == 1 ? "1 operation depends on it" : "\(QuantityText.grouped(count)) operations depend on it"
        return queues.isEmpty ? own : "\(own), and others in queue \(others) may, too"
    }
}
