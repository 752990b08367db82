import Operations
import SluiceOperator

/// The rows of a list, and how far the walk came.
struct ListReading: Sendable {
    var rows: [OperationDetail] = []
    var result = ListWalk.Result()
}

/// Shares the read of a view among all pages that are made of the same snapshot.
actor ListReads {
    /// The parts of a page's address that choose its rows.
    struct View: Hashable, Sendable {
        var typed: String
        var state: OperationState?
        var cursor: String?
    }

    private var sequence = -1
    private var reads: [View: Task<ListReading, any Error>] = [:]

    /// - Parameters:
    ///   - sequence: the number of the snapshot. Reads of another one are forgotten.
    ///   - read: reads the view; called only if no page has asked for the view of this snapshot.
    func reading(
        _ view: View,
        sequence: Int,
        _ read: @escaping @Sendable () async throws -> ListReading
    ) async throws -> ListReading {
        if sequence != self.sequence { (self.sequence, reads) = (sequence, [:]) }
        if let known = reads[view] { return try await known.value }
        let task = Task { try await read() }
        reads[view] = task
        return try await task.value
    }
}
