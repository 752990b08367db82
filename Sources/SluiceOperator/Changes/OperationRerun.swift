import Operations

extension OperationDetail {
    /// Returns a new operation that repeats this one, and names it. Name, arguments, tags, headers, priority, attempts
    /// and time limit are those of this operation.
    ///
    /// - Parameters:
    ///   - seal: the keys, which signed or encrypted operations need.
    ///   - context: the trace context of the caller.
    ///   - change: changes the envelope before it is checked.
    /// - Throws: `OperationsError` with `.refused` for a group, or for an envelope that cannot be read; the errors of
    ///   `OperationEnvelope.validate` and of `change`.
    package func rerun(
        _ seal: (any EnvelopeSeal)?,
        context: [String: String] = [:],
        _ change: (inout OperationEnvelope) throws -> Void
    ) throws -> NewOperation {
        guard links.group == nil else {
            throw OperationsError(.refused, GroupSummary.refusal(of: "rerun", id))
        }
        var envelope = try verifiedEnvelope(seal)
        envelope.rerunOf = id
        envelope.headers = TraceContext.add(context, to: TraceContext.headers(ofRerun: envelope.headers))
        envelope.schedule = nil
        try change(&envelope)
        try envelope.validate()
        return NewOperation(tracked: true, priority: record.header.priority, envelope: envelope.encoded())
    }
}
