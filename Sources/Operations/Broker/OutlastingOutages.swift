/// Reads for a wait, and repeats the read during an outage of the broker until the time of the wait is over.
///
/// - Parameters:
///   - deadline: the end of the wait; nil = no time limit.
///   - goesOn: returns false if the broker was closed, so that no further read can be answered.
///   - onOutage: called once before the first repetition.
///   - read: a call that may be repeated.
/// - Throws: `.timedOut` if the broker does not answer at the end of the wait; else the error of the read.
package func outlastingOutages<Result>(
    until deadline: ContinuousClock.Instant?,
    goesOn: () -> Bool = { true },
    onOutage: (OperationsError) -> Void,
    _ read: () async throws -> Result
) async throws -> Result {
    var isFirst = true
    while true {
        do { return try await read() } catch let error as OperationsError where error.isOfOutage {
            guard goesOn() else { throw error }
            if let deadline, ContinuousClock.now >= deadline {
                throw OperationsError(.timedOut, "the wait timed out while Redis did not answer: \(error.message)")
            }
            if isFirst { onOutage(error) }
            isFirst = false
            try await Task.sleep(for: .milliseconds(250))
        }
    }
}

extension OperationsError {
    /// Whether the broker did not answer, but may do so later.
    fileprivate var isOfOutage: Bool { code == .unavailable || code == .outcomeUnknown }
}
