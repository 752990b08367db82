import Crypto
import Operations

/// The unique key that `.automatic` stands for: a digest of the operation's name and arguments.
///
/// With encryption keys, the digest is an HMAC with a key derived from the first of them. A reader without these keys
/// then learns nothing about the arguments.
package enum AutomaticKey {
    private static let purpose = "sluice-unique-1"

    /// - Parameter envelope: an envelope that is not sealed.
    /// - Throws: `.malformed` if the bytes are not an envelope, or its arguments are not JSON.
    package static func key(of envelope: [UInt8], seal: (any EnvelopeSeal)?) throws(OperationsError) -> String {
        let opened = try OperationEnvelope(envelope)
        guard let arguments = try? JSONValue(parsing: opened.arguments) else {
            throw OperationsError(.malformed, "the arguments are not JSON, so they cannot make a unique key")
        }
        var text = Array("\(opened.name)\n".utf8)
        append(arguments, to: &text)
        guard let key = seal?.digestKey(for: purpose) else { return "auto:" + hexadecimal(SHA256.hash(data: text)) }
        return "auto:" + hexadecimal(HMAC<SHA256>.authenticationCode(for: text, using: SymmetricKey(data: key)))
    }

    /// Appends a value. Values that differ only in the order of members give the same text.
    private static func append(_ value: JSONValue, to text: inout [UInt8]) {
        if let array = value.arrayValue {
            text.append(UInt8(ascii: "["))
            for element in array {
                append(element, to: &text)
                text.append(UInt8(ascii: ","))
            }
            text.append(UInt8(ascii: "]"))
        } else if let object = value.objectValue {
            text.append(UInt8(ascii: "{"))
            for member in object.members.sorted(by: { $0.key < $1.key }) {
                text += JSONValue.string(member.key).serializedBytes()
                text.append(UInt8(ascii: ":"))
                append(member.value, to: &text)
                text.append(UInt8(ascii: ","))
            }
            text.append(UInt8(ascii: "}"))
        } else {
            text += value.serializedBytes()
        }
    }

    private static func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { byte in
            let digits = String(byte, radix: 16)
            return byte < 16 ? "0" + digits : digits
        }.joined()
    }
}
