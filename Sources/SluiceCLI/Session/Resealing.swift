import Operations
import Sluice

extension SluiceClient {
    /// What an operation was enqueued with, verified and decrypted, to be sealed anew. Sealing what nothing has verified would sign what anyone
    /// wrote into Redis.
    ///
    /// - Throws: `OperationsError` with `.refused` if this needs keys that are not here, or they do not accept it.
    func verifiedEnvelope(_ detail: OperationDetail) throws -> OperationEnvelope {
        let bytes = detail.record.envelope
        guard let seal else {
            let envelope = try OperationEnvelope(bytes)
            guard envelope.signingKey == nil, envelope.encryptionKey == nil else {
                throw OperationsError(.refused, "is sealed: the keys are needed to seal it anew; give --keys-file")
            }
            return envelope
        }
        do { return try seal.open(bytes, id: detail.record.header.id, queue: detail.queue) } catch let failure
            as SealFailure
        {
            throw OperationsError(.refused, "is not accepted with these keys: \(failure.message)")
        }
    }

    /// The stored bytes of an envelope that keeps its id and queue.
    func sealed(_ envelope: OperationEnvelope, for detail: OperationDetail) throws -> [UInt8] {
        try envelope.validate()
        let bytes = envelope.encoded()
        return try seal?.seal(bytes, id: detail.record.header.id, queue: detail.queue) ?? bytes
    }
}
