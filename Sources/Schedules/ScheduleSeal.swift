import Operations

extension ScheduleDefinition {
    /// Reads what is stored, with the given keys: nothing is read before it is verified.
    ///
    /// - Parameter seal: the keys; nil = none: signatures are not verified, and encrypted arguments cannot be read.
    /// - Throws: `SealFailure` if the bytes cannot be trusted or decrypted; as `init(_:)`.
    package init(_ stored: StoredSchedule, queue: String, seal: (any EnvelopeSeal)?) throws {
        guard let seal else {
            try self.init(stored.definition)
            guard let key = try OperationEnvelope(envelope).encryptionKey else { return }
            let name = OperationsError.quoted(key)
            throw SealFailure(
                .unknownKey,
                "the arguments are encrypted with the key \(name), and there are no keys here"
            )
        }
        try self.init(seal.openSchedule(stored.definition, id: stored.id, queue: queue))
    }
}
