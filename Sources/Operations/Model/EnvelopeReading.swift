/// With what operations are shown to people.
package struct PayloadView: Sendable {
    /// Reads what is encrypted; nil = there are no keys.
    package var seal: (any EnvelopeSeal)?
    package var redaction: Redaction

    package init(seal: (any EnvelopeSeal)? = nil, redaction: Redaction = .none) {
        self.seal = seal
        self.redaction = redaction
    }
}

/// An envelope as far as it can be read with the keys that are here, for showing it.
package struct EnvelopeReading: Sendable {
    /// Its arguments are clear text only if `encryptionKey` is nil.
    package let envelope: OperationEnvelope
    /// What a worker with these keys says against it; nil = nothing, or there are no keys.
    package let failure: SealFailure?
    /// What is to be said of its signature; nil = nothing.
    package let signature: String?

    package init(_ bytes: [UInt8], id: OperationID, queue: String, view: PayloadView = PayloadView()) {
        let seal = view.seal
        var failure: SealFailure?
        var verified: OperationEnvelope?
        if let seal {
            do { verified = try seal.open(bytes, id: id, queue: queue) } catch { failure = error as? SealFailure }
        }
        let unread = OperationEnvelope(name: "unreadable", arguments: bytes)
        var envelope = verified ?? (try? OperationEnvelope(bytes)) ?? unread
        envelope.arguments = URLPasswords.masked(json: view.redaction.applied(to: envelope.arguments, .arguments))
        self.envelope = envelope
        self.failure = failure
        let state = seal == nil ? "not verified here" : failure == nil ? "accepted" : "in quarantine"
        signature = envelope.signingKey.map { "by the key \(OperationsError.quoted($0)), \(state)" }
    }

    /// What to show in place of arguments that cannot be read; nil = they can.
    package var hiddenArguments: String? {
        envelope.encryptionKey.map { "encrypted with the key \(OperationsError.quoted($0))" }
    }
}

extension OperationDetail {
    package func reading(_ view: PayloadView) -> EnvelopeReading {
        EnvelopeReading(record.envelope, id: record.header.id, queue: queue, view: view)
    }

    /// Its result as it may be shown.
    package func result(_ view: PayloadView) -> [UInt8]? { result.map { view.redaction.applied(to: $0, .result) } }
}
