/// Reads for a wait. An outage of the broker does not end the wait before its own time is over: the read is repeated.
///
/// - Parameters:
///   - deadline: the end of the wait; nil = no time limit.
///   - goesOn: false when the broker was closed, and no read can be answered any more.
///   - onOutage: called once before the first repetition.
///   - read: a call that may be repeated.
/// - Throws: `.timedOut` if the broker does not answer when the wait is over, else what the read throws.
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
                throw OperationsError(.timedOut, "the time is over, and Redis does not answer: \(error.message)")
            }
            if isFirst { onOutage(error) }
            isFirst = false
            try await Task.sleep(for: .milliseconds(250))
        }
    }
}

extension OperationsError {
    /// The broker did not answer; it may do so later.
    fileprivate var isOfOutage: Bool { code == .unavailable || code == .outcomeUnknown }
}
