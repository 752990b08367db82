import Operations

extension OperationDetail {
    /// The verified and decrypted envelope, to be sealed again. Without verification, the new seal would sign data that
    /// any client could have written into Redis.
    ///
    /// - Parameter seal: the keys; nil = this process has none.
    /// - Throws: `OperationsError` with `.refused` if keys are needed but missing, or if the keys do not accept the
    ///   envelope.
    package func verifiedEnvelope(_ seal: (any EnvelopeSeal)?) throws -> OperationEnvelope {
        guard let seal else {
            let envelope = try OperationEnvelope(record.envelope)
            guard envelope.signingKey == nil, envelope.encryptionKey == nil else {
                throw OperationsError(.refused, "is signed or encrypted, which needs its keys: add --keys-file FILE")
            }
            return envelope
        }
        do { return try seal.open(record.envelope, id: record.header.id, queue: queue) } catch let failure
            as SealFailure
        {
            throw OperationsError(.refused, "is not accepted with these keys: \(failure.message)")
        }
    }

    /// The bytes to store for an envelope that keeps its id and queue.
    ///
    /// - Throws: `OperationsError` with `.invalidOption` or `.tooLarge`.
    package func sealed(_ envelope: OperationEnvelope, _ seal: (any EnvelopeSeal)?) throws -> [UInt8] {
        try envelope.validate()
        let bytes = envelope.encoded()
        return try seal?.seal(bytes, id: record.header.id, queue: queue) ?? bytes
    }
}
