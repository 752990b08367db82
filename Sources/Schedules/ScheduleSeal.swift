import Operations

extension ScheduleDefinition {
    /// Reads a stored schedule with the given keys. Verifies the signature before anything is read.
    ///
    /// - Parameter seal: the keys. nil = without keys: signatures are not verified, and encrypted arguments cannot be
    ///   read.
    /// - Throws: `SealFailure` if the bytes cannot be trusted or decrypted; otherwise as `init(_:)`.
    package init(_ stored: StoredSchedule, queue: String, seal: (any EnvelopeSeal)?) throws {
        guard let seal else {
            try self.init(stored.definition)
            guard let key = try OperationEnvelope(envelope).encryptionKey else { return }
            let name = OperationsError.quoted(key)
            throw SealFailure(
                .unknownKey,
                "the arguments are encrypted with the key \(name), and this program has no keys: set SLUICE_KEYS_FILE"
            )
        }
        try self.init(seal.openSchedule(stored.definition, id: stored.id, queue: queue))
    }
}
