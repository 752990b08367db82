import Crypto
import Foundation
import Operations

/// Signs and verifies envelopes with HMAC-SHA256.
///
/// The signed text is `sluice-signature-1`, namespace, queue, id (a line each) and the envelope without its last field.
/// For a schedule, the first line is `sluice-schedule-1`. The last field is `"sig":"KEY:MAC"` in exactly this form.
enum Signature {
    private static let begin = Array(#","sig":""#.utf8)
    private static let end = Array(#""}"#.utf8)
    /// 32 bytes in base 64.
    private static let macCharacters = 44

    static func append(to envelope: [UInt8], _ key: OperationKeys.Key, _ place: Place) -> [UInt8] {
        let code = Data(HMAC<SHA256>.authenticationCode(for: signed(envelope.dropLast(), place), using: key.secret))
        return envelope.dropLast() + begin + Array("\(key.id):\(code.base64EncodedString())".utf8) + end
    }

    /// - Throws: `SealFailure` with `.unsigned`, `.unknownKey` or `.badSignature`.
    static func verify(_ envelope: [UInt8], _ keys: [OperationKeys.Key], _ place: Place) throws(SealFailure) {
        guard let (body, keyID, code) = split(envelope) else {
            throw SealFailure(.unsigned, "it is not signed, and this worker runs signed operations only")
        }
        guard let key = keys.first(where: { $0.id == keyID }) else {
            throw SealFailure.unknownKey(keyID, "it is signed with")
        }
        // Compares in constant time.
        guard HMAC<SHA256>.isValidAuthenticationCode(code, authenticating: signed(body, place), using: key.secret)
        else {
            throw SealFailure(
                .badSignature,
                "its signature does not match: the key \(keyID) did not sign this content, id, queue and namespace"
            )
        }
    }

    private static func signed(_ body: some Sequence<UInt8>, _ place: Place) -> [UInt8] {
        place.bound(to: place.kind.signature) + body + [UInt8(ascii: "}")]
    }

    /// Finds the last field without reading the fields before it. Nothing is decoded before it is verified.
    private static func split(_ envelope: [UInt8]) -> (body: ArraySlice<UInt8>, key: String, code: Data)? {
        let longest = begin.count + 64 + 1 + macCharacters + end.count
        let first = max(envelope.startIndex, envelope.endIndex - longest)
        guard envelope.count > begin.count + end.count, envelope.suffix(end.count) == end[...] else { return nil }
        let last = envelope.endIndex - end.count - begin.count
        for start in stride(from: last, through: first, by: -1)
        where envelope[start..<start + begin.count] == begin[...] {
            let value = String(
                decoding: envelope[(start + begin.count)..<(envelope.endIndex - end.count)],
                as: UTF8.self
            )
            let parts = value.split(separator: ":", omittingEmptySubsequences: false)
            guard parts.count == 2, NameRule.allows(String(parts[0])), parts[1].utf8.count == macCharacters,
                let code = Data(base64Encoded: String(parts[1])), code.count == SHA256.byteCount,
                // Decoding ignores unused bits of the last character. Each signature must have only one valid form.
                code.base64EncodedString() == parts[1]
            else { return nil }
            return (envelope[..<start], String(parts[0]), code)
        }
        return nil
    }
}
