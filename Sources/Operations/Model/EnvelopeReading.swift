/// The keys and the redaction with which operations are displayed.
package struct PayloadView: Sendable {
    /// Decrypts arguments; nil = no keys.
    package var seal: (any EnvelopeSeal)?
    package var redaction: Redaction
    /// Whether queries compare arguments as they are shown, without passwords in URLs. Otherwise a person who sees no
    /// stored bytes could find out a password by searching.
    package var comparesShown = false

    package init(seal: (any EnvelopeSeal)? = nil, redaction: Redaction = .none) {
        self.seal = seal
        self.redaction = redaction
    }
}

/// An envelope to display, decrypted as far as this process has the keys.
package struct EnvelopeReading: Sendable {
    /// The envelope. The arguments are clear text only if `encryptionKey` is nil.
    package let envelope: OperationEnvelope
    /// Why a worker with these keys refuses the operation; nil = it accepts the operation, or this process has no keys.
    package let failure: SealFailure?
    /// A phrase about the signature; nil = the envelope has no signature.
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
        envelope.headers = envelope.headers.mapValues { URLPasswords.masked($0) }
        self.envelope = envelope
        self.failure = failure
        let state = seal == nil ? "not verified here" : failure == nil ? "accepted" : "in quarantine"
        signature = envelope.signingKey.map { "by the key \(OperationsError.quoted($0)), \(state)" }
    }

    /// The text to show in place of encrypted arguments; nil = the arguments are clear text.
    package var hiddenArguments: String? {
        envelope.encryptionKey.map { "encrypted with the key \(OperationsError.quoted($0))" }
    }
}

extension OperationDetail {
    /// The envelope; an unreadable one has the name `unreadable`.
    package var envelope: OperationEnvelope {
        (try? OperationEnvelope(record.envelope)) ?? OperationEnvelope(name: "unreadable", arguments: record.envelope)
    }

    package func reading(_ view: PayloadView) -> EnvelopeReading {
        EnvelopeReading(record.envelope, id: record.header.id, queue: queue, view: view)
    }

    /// The result after redaction.
    package func result(_ view: PayloadView) -> [UInt8]? { result.map { view.redaction.applied(to: $0, .result) } }
}
