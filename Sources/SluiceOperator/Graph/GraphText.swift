import Operations
import TerminalText

/// `2 ready, 1 executing`
package enum StateCounts {
    package static func text(_ counts: [OperationState: Int]) -> String {
        OperationState.allCases.compactMap { state in
            counts[state].map { "\(QuantityText.grouped($0)) \(state.rawValue)" }
        }.joined(separator: ", ")
    }
}

extension OperationGraph {
    /// `10 operations: 5 finished, 1 executing, 4 blocked`, and `critical path 4m10s over 3` if an operation has
    /// started.
    package var summary: [String] {
        let count = "\(QuantityText.grouped(nodes.count)) \(nodes.count == 1 ? "operation" : "operations")"
        let counts = "\(count): \(StateCounts.text(self.counts))"
        let path = criticalPath
        guard path.milliseconds > 0 else { return [counts] }
        return [
            counts, "critical path \(DurationText.precise(.milliseconds(path.milliseconds))) over \(path.names.count)",
        ]
    }
}

extension NeedPolicy {
    /// The dependent's fate if the dependency does not finish, as a sentence.
    package var consequence: String {
        switch self {
        case .cancel: "If the dependency does not finish, the dependent is cancelled."
        case .run: "The dependent starts when the dependency has ended, in any state."
        case .hold: "If the dependency does not finish, the dependent waits until someone retries or releases."
        case .member: "A member of a group: the group ends when all its members have ended."
        case .success: "A callback: it starts if the group finishes."
        case .death: "A callback: it starts when the first member of the group is dead."
        }
    }
}
