/// Proves where operations come from, and hides their arguments from Redis and whoever reads it.
///
/// What it adds are the two optional fields `sig` and `enc` of an envelope: see `docs/wire-format.md`.
package protocol EnvelopeSeal: Sendable {
    /// Encrypts and signs, as far as there are keys for it.
    ///
    /// - Parameter envelope: as `OperationEnvelope.encoded()` writes it.
    /// - Throws: `.tooLarge` if there is no room left for it.
    func seal(_ envelope: [UInt8], id: OperationID, queue: String) throws(OperationsError) -> [UInt8]

    /// Verifies and decrypts stored bytes; verifies before anything in them is looked at.
    ///
    /// - Throws: `SealFailure` if they are not to be trusted or cannot be decrypted, `.malformed` if they are no envelope.
    func open(_ envelope: [UInt8], id: OperationID, queue: String) throws -> OperationEnvelope
}

/// Why an operation is in quarantine: it was not run and never will be, unless an operator retries it.
package struct SealFailure: Error, Sendable, Equatable, CustomStringConvertible {
    /// A closed list; the raw value is the type of the stored error.
    package enum Code: String, Sendable, CaseIterable {
        /// It has no signature, and here one is asked for.
        case unsigned
        /// Its signature is not that of its content.
        case badSignature = "signature"
        /// It was signed or encrypted with a key that is not known here.
        case unknownKey = "key"
        /// Its arguments cannot be decrypted with the key that they name.
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
    /// Reads stored bytes with whatever keys there are.
    ///
    /// - Parameter seal: nil = no keys: signatures are not looked at, and what is encrypted cannot be read.
    /// - Throws: as `EnvelopeSeal.open`.
    package init(_ bytes: [UInt8], id: OperationID, queue: String, seal: (any EnvelopeSeal)?) throws {
        if let seal {
            self = try seal.open(bytes, id: id, queue: queue)
            return
        }
        try self.init(bytes)
        guard let key = encryptionKey else { return }
        let name = OperationsError.quoted(key)
        throw SealFailure(.unknownKey, "the arguments are encrypted with the key \(name), and there are no keys here")
    }
}
