import Operations
import Sluice

extension SluiceClient {
    /// The verified and decrypted envelope of an operation, to be sealed again. Without verification, the new seal
    /// would sign data that any client could have written into Redis.
    ///
    /// - Throws: `OperationsError` with `.refused` if keys are needed but missing, or if the keys do not accept the
    ///   envelope.
    func verifiedEnvelope(_ detail: OperationDetail) throws -> OperationEnvelope {
        let bytes = detail.record.envelope
        guard let seal else {
            let envelope = try OperationEnvelope(bytes)
            guard envelope.signingKey == nil, envelope.encryptionKey == nil else {
                throw OperationsError(.refused, "is signed or encrypted, which needs its keys: add --keys-file FILE")
            }
            return envelope
        }
        do { return try seal.open(bytes, id: detail.record.header.id, queue: detail.queue) } catch let failure
            as SealFailure
        {
            throw OperationsError(.refused, "is not accepted with these keys: \(failure.message)")
        }
    }

    /// The bytes to store for an envelope that keeps its id and queue.
    func sealed(_ envelope: OperationEnvelope, for detail: OperationDetail) throws -> [UInt8] {
        try envelope.validate()
        let bytes = envelope.encoded()
        return try seal?.seal(bytes, id: detail.record.header.id, queue: detail.queue) ?? bytes
    }
}
