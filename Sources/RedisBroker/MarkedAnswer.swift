import Operations

/// An answer of a script: a character for each operation, then, behind a space each, the ids that some of these speak of.
struct MarkedAnswer {
    private let marks: ArraySlice<UInt8>
    private var ids: [ArraySlice<UInt8>]

    init(_ bytes: [UInt8]) {
        let parts = bytes.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        marks = parts.first ?? []
        ids = parts.dropFirst().reversed()
    }

    /// - Parameter outcome: of a character; it may ask for the next id.
    /// - Throws: `.malformed` where an id is missing.
    func outcomes<Outcome>(
        _ outcome: (_ mark: UInt8, _ id: () throws(OperationsError) -> OperationID) throws(OperationsError) -> Outcome
    ) throws(OperationsError) -> [Outcome] {
        var ids = ids
        var outcomes: [Outcome] = []
        outcomes.reserveCapacity(marks.count)
        for mark in marks {
            let next = try outcome(mark) { () throws(OperationsError) -> OperationID in
                guard let id = ids.popLast().flatMap({ OperationID(utf8: $0) }) else {
                    throw OperationsError(.malformed, "an answer of Redis speaks of an operation without its id")
                }
                return id
            }
            outcomes.append(next)
        }
        return outcomes
    }
}
