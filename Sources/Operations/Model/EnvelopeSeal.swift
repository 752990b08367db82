/// Signs operations, and encrypts their arguments so that Redis and its other users cannot read them.
///
/// A seal adds the optional fields `sig` and `enc` to an envelope: see `docs/wire-format.md`.
package protocol EnvelopeSeal: Sendable {
    /// Encrypts and signs with the keys that this process has.
    ///
    /// - Parameter envelope: as `OperationEnvelope.encoded()` writes it.
    /// - Throws: `.tooLarge` if the sealed envelope exceeds the limit.
    func seal(_ envelope: [UInt8], id: OperationID, queue: String) throws(OperationsError) -> [UInt8]

    /// Verifies stored bytes, then decrypts them. No content is used before the verification.
    ///
    /// - Throws: `SealFailure` if the bytes cannot be trusted or decrypted, `.malformed` if they are not an envelope.
    func open(_ envelope: [UInt8], id: OperationID, queue: String) throws -> OperationEnvelope

    /// The key for a digest of arguments, so that the digest reveals nothing without the keys; nil = arguments are not
    /// encrypted.
    ///
    /// - Parameter purpose: each purpose has a key of its own.
    func digestKey(for purpose: String) -> [UInt8]?

    /// Encrypts the arguments in a schedule's definition, and signs the definition for this schedule.
    ///
    /// - Parameter definition: a JSON object with the field `operation`.
    /// - Throws: `.malformed` if the definition is not such an object.
    func sealSchedule(_ definition: [UInt8], id: String, queue: String) throws(OperationsError) -> [UInt8]

    /// Verifies a stored definition, then decrypts it.
    ///
    /// - Throws: as `open`.
    func openSchedule(_ definition: [UInt8], id: String, queue: String) throws -> [UInt8]
}

/// Why an operation is in quarantine: it did not run, and runs only if an operator retries it.
package struct SealFailure: Error, Sendable, Equatable, CustomStringConvertible {
    /// A closed list; the raw value is the type of the stored error.
    package enum Code: String, Sendable, CaseIterable {
        /// The operation has no signature, but this process requires one.
        case unsigned
        /// The signature does not match the content.
        case badSignature = "signature"
        /// The operation was signed or encrypted with an unknown key.
        case unknownKey = "key"
        /// The arguments cannot be decrypted with the key that they name.
        case undecryptable = "decryption"
    }

    package let code: Code
    /// One sentence, without secrets.
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { message }
}

extension OperationEnvelope {
    /// Reads stored bytes with the given keys.
    ///
    /// - Parameter seal: the keys; nil = no keys: signatures are not verified, and encrypted arguments cannot be read.
    /// - Throws: as `EnvelopeSeal.open`.
    package init(_ bytes: [UInt8], id: OperationID, queue: String, seal: (any EnvelopeSeal)?) throws {
        if let seal {
            self = try seal.open(bytes, id: id, queue: queue)
            return
        }
        try self.init(bytes)
        guard let key = encryptionKey else { return }
        let name = OperationsError.quoted(key)
        throw SealFailure(
            .unknownKey,
            "the arguments are encrypted with the key \(name), and this program has no keys: set SLUICE_KEYS_FILE"
        )
    }
}
