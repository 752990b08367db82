import Crypto
import Foundation
import Operations

/// Encrypts arguments with AES-256-GCM. The result is base 64 of 12 bytes of nonce, the ciphertext, and 16 bytes of
/// tag.
///
/// The key of an operation is HKDF-SHA256 of the configured key, with the id as salt. The tag also authenticates
/// `sluice-encryption-1`, namespace, queue, id (a line each) and the name. For a schedule, the first line is
/// `sluice-schedule-encryption-1`.
enum Encryption {
    static func seal(_ arguments: [UInt8], _ key: OperationKeys.Key, _ place: Place, name: String) -> String {
        let context = place.bound(to: place.kind.encryption) + Array(name.utf8)
        do {
            let box = try AES.GCM.seal(arguments, using: derived(key, place), authenticating: context)
            guard let combined = box.combined else { preconditionFailure("AES-GCM with a nonce that is not 12 bytes") }
            return combined.base64EncodedString()
        } catch {
            preconditionFailure("AES-GCM refuses a key of 32 bytes: \(error)")
        }
    }

    /// - Parameter arguments: a JSON string.
    static func open(
        _ arguments: [UInt8],
        _ key: OperationKeys.Key,
        _ place: Place,
        name: String
    ) throws(SealFailure) -> [UInt8] {
        let context = place.bound(to: place.kind.encryption) + Array(name.utf8)
        guard arguments.first == UInt8(ascii: "\""),
            let data = Data(base64Encoded: Data(arguments.dropFirst().dropLast())),
            let box = try? AES.GCM.SealedBox(combined: data),
            let clear = try? AES.GCM.open(box, using: derived(key, place), authenticating: context)
        else {
            throw SealFailure(
                .undecryptable,
                "its arguments cannot be decrypted with the key \(key.id): the producer has "
                    + "another key with this id, or the arguments were changed"
            )
        }
        return Array(clear)
    }

    private static func derived(_ key: OperationKeys.Key, _ place: Place) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: key.secret,
            salt: Array(place.id.utf8),
            info: Array(place.kind.encryption.utf8),
            outputByteCount: 32
        )
    }
}
