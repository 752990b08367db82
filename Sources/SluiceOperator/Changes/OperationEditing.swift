import Operations
import TerminalText

/// The requested changes of an operation that waits; nil = unchanged.
package struct EditRequest: Sendable, Equatable {
    package var priority: OperationPriority?
    /// The new start in milliseconds since 1970.
    package var at: Int64?
    /// The new time to wait, from now on.
    package var delay: Duration?
    package var tags: [String]?

    package init(
        priority: OperationPriority? = nil,
        at: Int64? = nil,
        delay: Duration? = nil,
        tags: [String]? = nil
    ) {
        (self.priority, self.at, self.delay, self.tags) = (priority, at, delay, tags)
    }

    package var isEmpty: Bool { self == EditRequest() }

    /// Returns the change of an operation as it was read.
    ///
    /// - Parameters:
    ///   - seal: the keys, which new tags of signed or encrypted operations need.
    ///   - now: milliseconds of server time; used only if `at` is not nil.
    /// - Throws: `OperationsError` with `.refused`, `.invalidOption` or `.tooLarge`.
    package func edit(_ detail: OperationDetail, _ seal: (any EnvelopeSeal)?, now: Int64) throws -> OperationEdit {
        guard detail.links.group == nil else {
            throw OperationsError(.refused, GroupSummary.refusal(of: "edit", detail.id))
        }
        // The broker refuses the other states.
        guard detail.state.isWaiting else { return OperationEdit(detail.record) }
        var bytes: [UInt8]?
        if let tags {
            var envelope = try detail.verifiedEnvelope(seal)
            envelope.tags = tags
            bytes = try detail.sealed(envelope, seal)
        }
        return OperationEdit(
            detail.record,
            priority: priority,
            delayMilliseconds: try delayMilliseconds(now),
            envelope: bytes
        )
    }

    private func delayMilliseconds(_ now: Int64) throws -> Int64? {
        if let delay { return delay.wholeMilliseconds }
        guard let at else { return nil }
        guard at > now else {
            throw OperationsError(
                .refused,
                "cannot wait for \(TimeText.rfc3339(at)), which is in the past; to start it now: \(Program.name) retry ID"
            )
        }
        return try TimeLimit.delay(until: Double(at), now: now)
    }
}

extension OperationDetail {
    /// The time at which the operation becomes due, as text; nil if it does not wait for a time.
    package var dueText: String? {
        [.scheduled, .retrying].contains(state) ? TimeText.rfc3339(record.dueAt) : nil
    }
}

extension EditOutcome {
    /// Why nothing was changed; nil if the operation was edited.
    package var refusal: (result: OperationOutcome.Result, text: String, name: String)? {
        switch self {
        case .done: nil
        case .outdated: (.refused, "was changed by another client; edit it again", "refused")
        case .refused(let state): (.refused, "is \(state.rawValue)", "refused")
        case .unknown: (.unknown, "is unknown", "unknown")
        }
    }
}
