import Operations

/// A script's answer: one character for each operation, then, each after a space, the ids that some characters refer
/// to.
struct MarkedAnswer {
    private let marks: ArraySlice<UInt8>
    private var ids: [ArraySlice<UInt8>]

    init(_ bytes: [UInt8]) {
        let parts = bytes.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        marks = parts.first ?? []
        ids = parts.dropFirst().reversed()
    }

    /// Translates each character into an outcome.
    ///
    /// - Parameter outcome: returns the outcome of a character. Can ask for the next id.
    /// - Throws: `.malformed` if an id is missing.
    func outcomes<Outcome>(
        _ outcome: (_ mark: UInt8, _ id: () throws(OperationsError) -> OperationID) throws(OperationsError) -> Outcome
    ) throws(OperationsError) -> [Outcome] {
        var ids = ids
        var outcomes: [Outcome] = []
        outcomes.reserveCapacity(marks.count)
        for mark in marks {
            let next = try outcome(mark) { () throws(OperationsError) -> OperationID in
                guard let id = ids.popLast().flatMap({ OperationID(utf8: $0) }) else {
                    throw OperationsError(.malformed, "a reply of Redis lacks the id of an operation")
                }
                return id
            }
            outcomes.append(next)
        }
        return outcomes
    }
}
