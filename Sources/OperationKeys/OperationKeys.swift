import Crypto
import Foundation
import Operations

/// Keys that sign operations and encrypt their arguments. Descriptions never show the keys.
///
/// ```
/// # role   id       32 bytes or more in base 64
/// sign     2026-07  q83v…=
/// sign     2026-01  9c0a…=
/// encrypt  2026-07  77aQ…=
/// ```
///
/// The first key of a role signs or encrypts; all keys verify and decrypt. To change a key:
///
/// 1. Add the new key below the old one for all workers.
/// 2. Put the new key first for all producers.
/// 3. Remove the old key when no operation that it signed or encrypted is left.
public struct OperationKeys: Sendable {
    struct Key: Sendable {
        let id: String
        let secret: SymmetricKey
    }

    /// The signing keys, of which the first one signs.
    let signing: [Key]
    /// The encryption keys, of which the first one encrypts.
    let encryption: [Key]
}

extension OperationKeys: CustomStringConvertible, CustomReflectable {
    /// The ids of the keys, without the keys.
    public var description: String {
        let groups = [("sign", signing), ("encrypt", encryption)].filter { !$0.1.isEmpty }
        return groups.map { "\($0) \($1.map(\.id).joined(separator: ","))" }.joined(separator: "; ")
    }

    /// Hides the keys from `dump` and other reflection.
    public var customMirror: Mirror { Mirror(self, children: ["keys": description]) }
}

extension OperationKeys.Key: CustomStringConvertible, CustomReflectable {
    var description: String { id }
    var customMirror: Mirror { Mirror(self, children: ["id": id]) }
}
