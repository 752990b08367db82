import Foundation
import Operations
import TestSupport
import Testing

@testable import OperationKeys

/// Returns a key of 32 bytes, in base64, that counts up from a number.
func secret(_ first: UInt8, count: Int = 32) -> String {
    Data((0..<count).map { first &+ UInt8($0) }).base64EncodedString()
}

@Suite("A seal", .timeLimit(.minutes(60)))
struct SealTests {
    private static let id = OperationID("01ARZ3NDEKTSV4RRFFQ69G5FAV")!
    private let id = Self.id
    private let envelope = OperationEnvelope(
        name: "mail",
        arguments: Array(#"{"to":"a@example.org","n":9007199254740993}"#.utf8),
        tags: ["vip"],
        headers: ["tenant": "acme"]
    )

    private func seal(_ keys: String..., namespace: String = "shop") throws -> OperationSeal {
        OperationSeal(try OperationKeys(parsing: keys.joined(separator: "\n")), namespace: namespace)
    }

    private func failure(_ seal: OperationSeal, _ bytes: [UInt8], id: OperationID = Self.id, queue: String = "mail")
        -> SealFailure.Code?
    {
        do { _ = try seal.open(bytes, id: id, queue: queue) } catch { return (error as? SealFailure)?.code }
        return nil
    }

    @Test(
        "A sealed operation opens unchanged",
        arguments: [["sign a"], ["encrypt a"], ["sign a", "encrypt b"]]
    )
    func roundTrip(roles: [String]) throws {
        let keys = roles.map { "\($0) \(secret(1))" }.joined(separator: "\n")
        let seal = OperationSeal(try OperationKeys(parsing: keys), namespace: "shop")
        let sealed = try seal.seal(envelope.encoded(), id: id, queue: "mail")
        let opened = try seal.open(sealed, id: id, queue: "mail")
        #expect(opened.arguments == envelope.arguments && opened.name == "mail" && opened.tags == ["vip"])
        #expect(opened.headers == ["tenant": "acme"])
        #expect(String(decoding: sealed, as: UTF8.self).contains("example.org") == !keys.contains("encrypt"))
    }

    @Test(
        "A sealed schedule opens only for its id, queue and namespace, and with all bytes unchanged",
        arguments: [["sign a"], ["sign a", "encrypt b"]]
    )
    func schedule(roles: [String]) throws {
        let keys = roles.map { "\($0) \(secret(1))" }
        let (seal, other) = (try self.seal(keys.joined(separator: "\n")), try self.seal(keys[0], namespace: "other"))
        let definition = Array(#"{"every":1000,"operation":"#.utf8) + envelope.encoded() + [UInt8(ascii: "}")]
        let sealed = try seal.sealSchedule(definition, id: "nightly", queue: "mail")
        #expect(String(decoding: sealed, as: UTF8.self).contains("example.org") == (roles.count == 1))
        let opened = try seal.openSchedule(sealed, id: "nightly", queue: "mail")
        #expect(opened.starts(with: definition.dropLast()))
        #expect(throws: SealFailure.self) { try seal.openSchedule(sealed, id: "daily", queue: "mail") }
        #expect(throws: SealFailure.self) { try seal.openSchedule(sealed, id: "nightly", queue: "post") }
        #expect(throws: SealFailure.self) { try other.openSchedule(sealed, id: "nightly", queue: "mail") }
        #expect(throws: SealFailure.self) { try seal.openSchedule(definition, id: "nightly", queue: "mail") }
        // A signature of an operation is invalid for a schedule, and vice versa.
        #expect(failure(seal, sealed) != nil)
        if roles.count == 1 {
            let operation = try seal.seal(definition, id: id, queue: "mail")
            #expect(throws: SealFailure.self) { try seal.openSchedule(operation, id: "\(id)", queue: "mail") }
        }
        for position in sealed.indices {
            var changed = sealed
            changed[position] ^= 1
            #expect(throws: (any Error).self) { try seal.openSchedule(changed, id: "nightly", queue: "mail") }
        }
    }

    @Test("A signed operation with a changed, missing or added byte is refused")
    func changedBytes() throws {
        let seal = try seal("sign a \(secret(1))", "encrypt b \(secret(2))")
        let sealed = try seal.seal(envelope.encoded(), id: id, queue: "mail")
        for position in sealed.indices {
            for bit in [UInt8(1), 0x80] {
                var changed = sealed
                changed[position] ^= bit
                #expect(throws: (any Error).self) { try seal.open(changed, id: id, queue: "mail") }
            }
            var shorter = sealed
            shorter.remove(at: position)
            #expect(failure(seal, shorter) != nil)
            var longer = sealed
            longer.insert(UInt8(ascii: " "), at: position)
            #expect(failure(seal, longer) != nil)
        }
    }

    @Test("The unused bits of a signature's last character must not change")
    func spareBits() throws {
        let seal = try seal("sign a \(secret(1))")
        // The tests cover every possible ending: the character before the "=" uses four of its six bits.
        for _ in 0..<64 {
            let id = OperationID()
            let sealed = try seal.seal(envelope.encoded(), id: id, queue: "mail")
            let last = try #require(sealed.lastIndex(of: UInt8(ascii: "="))) - 1
            for other in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8
            where other != sealed[last] {
                var changed = sealed
                changed[last] = other
                #expect(failure(seal, changed, id: id) != nil)
            }
        }
    }

    @Test("A seal is valid only for its id, queue and namespace")
    func place() throws {
        for keys in ["sign a \(secret(1))", "encrypt a \(secret(1))"] {
            let sealed = try seal(keys).seal(envelope.encoded(), id: id, queue: "mail")
            let code: SealFailure.Code = keys.hasPrefix("sign") ? .badSignature : .undecryptable
            #expect(failure(try seal(keys), sealed) == nil)
            #expect(failure(try seal(keys), sealed, id: OperationID()) == code)
            #expect(failure(try seal(keys), sealed, queue: "other") == code)
            #expect(failure(try seal(keys, namespace: "test"), sealed) == code)
        }
    }

    @Test("Encrypted arguments are bound to their name and cannot be changed, even without a signature")
    func encryptedOnly() throws {
        let seal = try seal("encrypt a \(secret(1))")
        let text = String(decoding: try seal.seal(envelope.encoded(), id: id, queue: "mail"), as: UTF8.self)
        #expect(failure(seal, Array(text.replacing("\"mail\"", with: "\"nail\"").utf8)) == .undecryptable)
        let arguments = String(try #require(text.firstMatch(of: /"args":"([^"]*)"/)).1)
        for position in arguments.indices {
            var changed = arguments
            let end = changed.index(after: position)
            changed.replaceSubrange(position..<end, with: changed[position] == "A" ? "B" : "A")
            // The last characters of base64 have unused bits.
            if Data(base64Encoded: changed) == Data(base64Encoded: arguments) { continue }
            #expect(failure(seal, Array(text.replacing(arguments, with: changed).utf8)) == .undecryptable)
        }
    }

    @Test("With a signing key, unsigned, foreign and wrongly signed operations have separate errors")
    func refused() throws {
        let mine = try seal("sign a \(secret(1))")
        let plain = envelope.encoded()
        #expect(failure(mine, plain) == .unsigned)
        #expect(failure(mine, Array("not json".utf8)) == .unsigned)
        #expect(failure(mine, []) == .unsigned)
        #expect(failure(mine, try seal("sign b \(secret(1))").seal(plain, id: id, queue: "mail")) == .unknownKey)
        #expect(failure(mine, try seal("sign a \(secret(2))").seal(plain, id: id, queue: "mail")) == .badSignature)
        #expect(failure(mine, try seal("encrypt a \(secret(1))").seal(plain, id: id, queue: "mail")) == .unsigned)
        let both = try seal("sign a \(secret(1))", "encrypt b \(secret(2))").seal(plain, id: id, queue: "mail")
        #expect(failure(mine, both) == .unknownKey)
        let other = try seal("sign a \(secret(1))", "encrypt b \(secret(3))")
        #expect(failure(other, both) == .undecryptable)
    }

    @Test("A signature within the arguments does not count")
    func signatureInside() throws {
        let mine = try seal("sign a \(secret(1))")
        let signed = String(decoding: try mine.seal(envelope.encoded(), id: id, queue: "mail"), as: UTF8.self)
        let signature = try #require(signed.firstMatch(of: /,"sig":"[^"]*"/)).0
        let inside = #"{"name":"mail","args":{"n":1\#(signature)}}"#
        #expect(failure(mine, Array(inside.utf8)) == .unsigned)
        let early = #"{"name":"mail"\#(signature),"args":{}}"#
        #expect(failure(mine, Array(early.utf8)) == .unsigned)
        let twice = signed.dropLast() + signature + "}"
        #expect(failure(mine, Array(twice.utf8)) == .badSignature)
    }

    @Test("Keys rotate: the first signs and encrypts, all verify and decrypt")
    func rotation() throws {
        let old = ["sign a \(secret(1))", "encrypt a \(secret(2))"]
        let new = ["sign b \(secret(3))", "encrypt b \(secret(4))"]
        func seal(_ lines: [String]) throws -> OperationSeal {
            OperationSeal(try OperationKeys(parsing: lines.joined(separator: ";")), namespace: "shop")
        }
        let before = try seal(old).seal(envelope.encoded(), id: id, queue: "mail")
        let after = try seal(new + old).seal(envelope.encoded(), id: id, queue: "mail")
        for lines in [old + new, new + old] {
            #expect(try seal(lines).open(before, id: id, queue: "mail").arguments == envelope.arguments)
            #expect(try seal(lines).open(after, id: id, queue: "mail").arguments == envelope.arguments)
        }
        #expect(failure(try seal(new), before) == .unknownKey)
        #expect(try OperationEnvelope(after).signingKey == "b")
        #expect(try OperationEnvelope(after).encryptionKey == "b")
    }

    @Test("The form is that of docs/wire-format.md, made with Python's hmac and cryptography")
    func form() throws {
        let envelope = #"{"name":"mail","args":{"n":1}}"#
        let signed = try seal("sign k \(secret(0))").seal(Array(envelope.utf8), id: id, queue: "mail")
        let mac = "d8qkPgj7s2+BoyJRpXr6t95MFkuKrn6962LrJxanBXc="
        #expect(String(decoding: signed, as: UTF8.self) == envelope.dropLast() + #","sig":"k:\#(mac)"}"#)
        let hidden = "AAAAAAAAAAAAAAAAgaJza6O4V17QrNY/ZtVLgv/PN40CFnM="
        let stored = #"{"name":"mail","args":"\#(hidden)","enc":"k"}"#
        let opened = try seal("encrypt k \(secret(0))").open(Array(stored.utf8), id: id, queue: "mail")
        #expect(opened.arguments == Array(#"{"n":1}"#.utf8))
    }

    @Test("An operation that a seal makes too large is refused before it is sent")
    func tooLarge() throws {
        let large = OperationEnvelope(name: "mail", arguments: Array(repeating: UInt8(ascii: "1"), count: 900_000))
        try large.validate()
        #expect(throws: OperationsError.self) {
            try seal("encrypt a \(secret(1))").seal(large.encoded(), id: id, queue: "mail")
        }
    }

    @Test("Without keys, encrypted arguments are not read as arguments, and signatures are ignored")
    func withoutKeys() throws {
        let encrypted = try seal("encrypt a \(secret(1))").seal(envelope.encoded(), id: id, queue: "mail")
        #expect(throws: SealFailure.self) { try OperationEnvelope(encrypted, id: id, queue: "mail", seal: nil) }
        let reading = EnvelopeReading(encrypted, id: id, queue: "mail")
        #expect(reading.hiddenArguments == #"encrypted with the key "a""#)
        let signed = try seal("sign a \(secret(1))").seal(envelope.encoded(), id: id, queue: "mail")
        #expect(
            try OperationEnvelope(signed, id: id, queue: "mail", seal: nil).arguments == envelope.arguments
        )
    }
}
