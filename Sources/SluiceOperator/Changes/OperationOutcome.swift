import Operations
import Selectors
import TerminalText

/// The outcome of a change for one operation.
package struct OperationOutcome: Sendable {
    /// How a change ends for an operation. The raw value is the exit status of a command for this operation alone.
    package enum Result: Int32, Sendable {
        case done = 0
        case unknown = 3
        /// The operation had not stopped when the wait ended.
        case stillRunning = 4
        case refused = 5
        /// The reference matches several operations.
        case ambiguous = 64
    }

    package var reference: String
    package var address: OperationAddress?
    package var result: Result
    /// The outcome as text: `cancelled`, `already finished 3m ago`.
    package var text: String
    /// The outcome for programs.
    package var name: String
    /// The kind of outcome, for counts: `already finished`.
    package var kind: String
    package var detail: OperationDetail?

    package init(
        reference: String,
        address: OperationAddress? = nil,
        result: Result = .done,
        text: String,
        name: String,
        kind: String? = nil,
        detail: OperationDetail? = nil
    ) {
        self.reference = reference
        self.address = address
        self.result = result
        self.text = text
        self.name = name
        self.kind = kind ?? name
        self.detail = detail
    }

    package init(_ address: OperationAddress, _ text: String, _ name: String, _ result: Result = .done) {
        self.init(reference: address.id.description, address: address, result: result, text: text, name: name)
    }

    package var shownID: String { address?.id.description ?? reference }
}

// MARK: - Lookups

extension OperationOutcome {
    /// Makes the outcome of a reference that does not name exactly one operation; nil for one that does.
    package init?(_ finding: OperationLookup.Finding, of reference: IDReference) {
        switch finding {
        case .found: return nil
        case .notFound:
            self.init(reference: reference.shown, result: .unknown, text: "is unknown", name: "unknown")
        case .ambiguous(let addresses):
            let ids = addresses.prefix(5).map { "\($0.queue)/\($0.id)" }.joined(separator: " ")
            self.init(
                reference: reference.shown,
                result: .ambiguous,
                text: "matches \(addresses.count) operations: \(ids)\(addresses.count > 5 ? " …" : ""); "
                    + "give one of these",
                name: "ambiguous"
            )
        }
    }
}

// MARK: - Changes

extension OperationOutcome {
    /// Makes the outcome of a change that is not a cancel.
    package init(_ outcome: ChangeOutcome, of address: OperationAddress, _ kind: ChangeKind) {
        switch outcome {
        case .done: self.init(address, kind.participle, kind.participle)
        case .refused(let state):
            let remedy = Self.remedy(kind, state, address.id).map { "; " + $0 } ?? ""
            self.init(address, "is \(state.rawValue)\(remedy)", "refused", .refused)
            self.kind = "refused: \(state.rawValue)"
        case .taken(let other):
            self.init(address, "has a unique key that \(other) has now", "refused", .refused)
        case .unknown: self.init(address, "is unknown", "unknown", .unknown)
        }
    }

    /// The command to use instead of the change in this state.
    private static func remedy(_ kind: ChangeKind, _ state: OperationState, _ id: OperationID) -> String? {
        switch (kind, state) {
        case (.retry, .finished): "run it again: \(Program.name) rerun \(id)"
        case (.retry, .blocked): "release it: \(Program.name) release \(id)"
        default: nil
        }
    }

    /// Makes the outcome of a cancel.
    ///
    /// - Parameter now: milliseconds of server time, for the age of an end; nil = without it.
    package init(_ outcome: CancelOutcome, of address: OperationAddress, now: Int64?) {
        self.init(address, "cancelled", "cancelled")
        switch outcome {
        case .cancelled: break
        case .forced(let worker):
            (text, name) = ("cancelled by force; later writes of \(worker) for it are refused", "forced")
            kind = "cancelled by force"
        case .requested(let worker): (text, name, kind) = ("cancelling on \(worker)", "requested", "cancelling")
        case .group: (text, name, kind) = ("cancelling its members", "requested", "cancelling")
        case .ended(.cancelled, at: _):
            (text, name) = ("was cancelled before", "alreadyCancelled")
            kind = text
        case .ended(let state, let endedAt):
            kind = "already \(state.rawValue)"
            let age = now.map { " " + TimeText.relative(endedAt, now: $0) } ?? ""
            (text, name, result) = (kind + age, "alreadyEnded", .refused)
        case .unknown(intentStored: true):
            (text, name) = ("not found yet; the cancel is stored and takes effect when it is claimed", "intentStored")
            kind = "not found yet; the cancel is stored"
        case .unknown(intentStored: false):
            (text, name, kind, result) = ("is unknown", "unknown", "unknown", .unknown)
        }
    }
}

// MARK: - Printing

extension OperationOutcome {
    package var json: JSONValue {
        [
            "id": .string(shownID),
            "queue": JSONValue(address?.queue),
            "outcome": .string(name),
            "state": JSONValue(detail?.state.rawValue),
            "exit": .number(result.rawValue),
            "message": .string(text),
            "cancel": OperationJSON.cancel(detail?.cancel),
        ]
    }
}
