import Crypto
import Foundation
import Operations

/// Signs and encrypts the operations of one namespace with its keys.
///
/// The signature covers namespace, queue, id and each byte of the envelope. Redis changes attempts, times and priority,
/// so the signature cannot cover them. Encryption binds the arguments to namespace, queue, id and name. Each operation
/// has its own key, derived from the configured one, so nonces do not repeat under one key.
package struct OperationSeal: EnvelopeSeal {
    private let keys: OperationKeys
    private let namespace: String

    package init(_ keys: OperationKeys, namespace: String) {
        self.keys = keys
        self.namespace = namespace
    }

    package func seal(_ envelope: [UInt8], id: OperationID, queue: String) throws(OperationsError) -> [UInt8] {
        let place = Place(namespace: namespace, queue: queue, id: id)
        var bytes = envelope
        if let key = keys.encryption.first { bytes = try encrypt(bytes, key, place) }
        if let key = keys.signing.first { bytes = Signature.append(to: bytes, key, place) }
        guard OperationHeader.byteCount + bytes.count <= SluiceDefaults.operationBytes else {
            throw OperationsError(
                .tooLarge,
                "the signed or encrypted operation has \(bytes.count) bytes; header and envelope may have \(SluiceDefaults.operationBytes): "
                    + "store the data elsewhere and pass its address",
                id: id
            )
        }
        return bytes
    }

    package func open(_ envelope: [UInt8], id: OperationID, queue: String) throws -> OperationEnvelope {
        let place = Place(namespace: namespace, queue: queue, id: id)
        if !keys.signing.isEmpty { try Signature.verify(envelope, keys.signing, place) }
        return try decrypt(try OperationEnvelope(envelope), place)
    }

    private func decrypt(_ envelope: OperationEnvelope, _ place: Place) throws(SealFailure) -> OperationEnvelope {
        var opened = envelope
        guard let keyID = opened.encryptionKey else { return opened }
        guard let key = keys.encryption.first(where: { $0.id == keyID }) else {
            throw SealFailure.unknownKey(keyID, "its arguments are encrypted with")
        }
        opened.arguments = try Encryption.open(opened.arguments, key, place, name: opened.name)
        opened.encryptionKey = nil
        return opened
    }

    package func digestKey(for purpose: String) -> [UInt8]? {
        guard let key = keys.encryption.first else { return nil }
        let derived = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: key.secret,
            salt: Array(namespace.utf8),
            info: Array(purpose.utf8),
            outputByteCount: 32
        )
        return derived.withUnsafeBytes { Array($0) }
    }

    package func sealSchedule(
        _ definition: [UInt8],
        id: String,
        queue: String
    ) throws(OperationsError) -> [UInt8] {
        let place = Place(namespace: namespace, queue: queue, schedule: id)
        var bytes = definition
        if let key = keys.encryption.first {
            let operation = try Self.operation(in: bytes)
            bytes.replaceSubrange(operation, with: try encrypt(Array(bytes[operation]), key, place))
        }
        if let key = keys.signing.first { bytes = Signature.append(to: bytes, key, place) }
        return bytes
    }

    package func openSchedule(_ definition: [UInt8], id: String, queue: String) throws -> [UInt8] {
        let place = Place(namespace: namespace, queue: queue, schedule: id)
        if !keys.signing.isEmpty { try Signature.verify(definition, keys.signing, place) }
        var bytes = definition
        let operation = try Self.operation(in: bytes)
        let envelope = try OperationEnvelope(Array(bytes[operation]))
        if envelope.encryptionKey != nil {
            bytes.replaceSubrange(operation, with: try decrypt(envelope, place).encoded())
        }
        return bytes
    }

    /// The range of the operation in a schedule's definition.
    private static func operation(in definition: [UInt8]) throws(OperationsError) -> Range<Int> {
        var fields = JSONFields(definition)
        while let (field, value) = try fields.next() {
            if field == "operation" { return value.startIndex..<value.endIndex }
        }
        throw OperationsError(.malformed, "a schedule has no \"operation\"")
    }

    /// Replaces the arguments and adds the id of the key. All other bytes stay.
    private func encrypt(
        _ envelope: [UInt8],
        _ key: OperationKeys.Key,
        _ place: Place
    ) throws(OperationsError) -> [UInt8] {
        var fields = JSONFields(envelope)
        var arguments: ArraySlice<UInt8>?
        let name = try OperationEnvelope(envelope).name
        while let (field, value) = try fields.next() {
            if field == "args" { arguments = value }
        }
        guard let arguments, envelope.last == UInt8(ascii: "}") else {
            throw OperationsError(
                .malformed,
                "an envelope without arguments cannot be encrypted",
                id: OperationID(place.id)
            )
        }
        let hidden = Encryption.seal(Array(arguments), key, place, name: name)
        return envelope[..<arguments.startIndex] + Array("\"\(hidden)\"".utf8)
            + envelope[arguments.endIndex...].dropLast() + Array(",\"enc\":\"\(key.id)\"}".utf8)
    }
}

/// The place of an operation or a schedule. A signature or a ciphertext of one place is not valid in another.
struct Place {
    enum Kind: Sendable {
        case operation, schedule

        var signature: String { self == .operation ? "sluice-signature-1" : "sluice-schedule-1" }
        var encryption: String { self == .operation ? "sluice-encryption-1" : "sluice-schedule-encryption-1" }
    }

    let kind: Kind
    let namespace: String
    let queue: String
    let id: String

    init(namespace: String, queue: String, id: OperationID) {
        (kind, self.namespace, self.queue, self.id) = (.operation, namespace, queue, "\(id)")
    }

    init(namespace: String, queue: String, schedule: String) {
        (kind, self.namespace, self.queue, id) = (.schedule, namespace, queue, schedule)
    }

    /// The place as lines. Names contain no line ends, so no other place has the same lines.
    func bound(to purpose: String) -> [UInt8] { Array("\(purpose)\n\(namespace)\n\(queue)\n\(id)\n".utf8) }
}

extension SealFailure {
    static func unknownKey(_ id: String, _ what: String) -> SealFailure {
        SealFailure(.unknownKey, "\(what) the key \(OperationsError.quoted(id)), which this program does not have")
    }
}
