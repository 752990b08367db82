import Operations
import TerminalText

/// Unique keys of ended operations that other operations have now: a retry of these is refused.
package struct BusyKeys: Sendable {
    /// The most holders that are named.
    private static let named = 3

    /// The number of operations whose key is busy.
    package private(set) var count = 0
    /// The number of operations that were looked at.
    package private(set) var examined = 0
    /// The first holders, each once.
    package private(set) var holders: [OperationAddress] = []

    package init() {}

    /// Asks once for each queue of the sample.
    init(of sample: [OperationDetail], _ broker: any MonitorBroker) async throws {
        examined = sample.count
        let unique = sample.filter { $0.uniqueKey != nil && $0.state.isTerminal }
        for (queue, details) in Dictionary(grouping: unique, by: \.queue).sorted(by: { $0.key < $1.key }) {
            for start in stride(from: 0, to: details.count, by: SluiceDefaults.batch) {
                let keys = details[start..<min(start + SluiceDefaults.batch, details.count)].compactMap(\.uniqueKey)
                for holder in try await broker.keyHolders(keys, queue: queue).compactMap({ $0 }) {
                    add(OperationAddress(queue: queue, id: holder))
                }
            }
        }
    }

    /// `Of the first 500, 3 have unique keys that other operations have now, and are refused while these have them`
    ///
    /// - Parameter all: the number of operations of the plan.
    package func sentence(of all: Int) -> String {
        let first = all > examined ? "Of the first \(QuantityText.grouped(examined)), " : ""
        let text =
            count == 1
            ? "1 has a unique key that another operation has now, and is refused while that one has it"
            : "\(QuantityText.grouped(count)) have unique keys that other operations have now, and are refused while "
                + "these have them"
        return first + text
    }

    private mutating func add(_ holder: OperationAddress) {
        count += 1
        if holders.count < Self.named, !holders.contains(holder) { holders.append(holder) }
    }
}
