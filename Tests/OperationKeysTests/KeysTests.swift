import Foundation
import TestSupport
import Testing

@testable import OperationKeys

@Suite("Keys", .timeLimit(.minutes(60)))
struct KeysTests {
    private func error(_ text: String) -> OperationKeysError? {
        do { _ = try OperationKeys(parsing: text, from: "keys") } catch { return error }
        return nil
    }

    @Test(
        "An invalid key is refused with its line, and is never shown",
        arguments: [
            "sign a", "sing a KEY", "sign a KEY more", "sign a! KEY", "sign a c2hvcnQ=", "encrypt a LONG",
            "sign a KEY!",
            "sign HEX a", "encrypt HEX a", "KEY", "encrypt \(String(repeating: "i", count: 65)) KEY",
        ]
    )
    func malformed(line: String) {
        let (key, long) = (secret(7), secret(7, count: 48))
        let hex = String(repeating: "0a", count: 32)
        let line = line.replacing("KEY", with: key).replacing("LONG", with: long).replacing("HEX", with: hex)
        let text = "sign x \(secret(1))\n# a comment\n" + line
        let error = error(text)
        #expect(error?.code == .malformed)
        #expect(error?.message.hasPrefix("keys, line 3: ") == true)
        for part in [key, long, hex, "c2hvcnQ="] { #expect(error?.message.contains(part) == false) }
    }

    @Test("An empty file and a second key with one id are refused")
    func others() {
        #expect(error("# nothing\n\n")?.code == .empty)
        #expect(error("sign a \(secret(1))\nsign a \(secret(2))")?.code == .duplicate)
        #expect(error("sign a \(secret(1))\nencrypt a \(secret(2))") == nil)
    }

    @Test("Printed keys show only their ids")
    func printed() throws {
        let keys = try OperationKeys(parsing: "sign a \(secret(1)) # mine\nencrypt b \(secret(2))")
        var dumped = ""
        dump(keys, to: &dumped)
        dump(OperationSeal(keys, namespace: "n"), to: &dumped)
        for text in ["\(keys)", String(reflecting: keys), dumped, "\(keys.signing)", String(reflecting: keys.signing)] {
            #expect(text.contains("a"))
            for number: UInt8 in [1, 2] { #expect(!text.contains(secret(number))) }
            #expect(!text.contains("SymmetricKey"))
        }
        #expect("\(keys)" == "sign a; encrypt b")
    }

    @Test("A file that others may read or change is refused", arguments: [0o640, 0o604, 0o620, 0o602, 0o644, 0o610])
    func exposed(mode: Int) throws {
        let folder = try TemporaryDirectory()
        let path = folder.path("keys")
        try OperationKeys.newFile(id: "a", encrypts: true).write(toFile: path, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        #expect(try OperationKeys(contentsOfFile: path).encryption.count == 1)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        let error = #expect(throws: OperationKeysError.self) { try OperationKeys(contentsOfFile: path) }
        #expect(error?.code == .exposed && error?.message.contains(String(mode, radix: 8)) == true)
    }

    @Test("A missing file, a folder and bytes that are not text are refused")
    func unreadable() throws {
        let folder = try TemporaryDirectory()
        let path = folder.path("keys")
        for _ in 0...1 {
            #expect(throws: OperationKeysError.self) { try OperationKeys(contentsOfFile: path) }
            try Data([0xff, 0xfe]).write(to: URL(fileURLWithPath: path))
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        }
        #expect(throws: OperationKeysError.self) { try OperationKeys(contentsOfFile: folder.url.path) }
    }

    @Test("The environment names a file or holds the keys, not both")
    func environment() throws {
        #expect(try OperationKeys.fromEnvironment([:]) == nil)
        #expect(try OperationKeys.fromEnvironment(["SLUICE_KEYS": "", "SLUICE_KEYS_FILE": ""]) == nil)
        let text = "sign a \(secret(1));encrypt b \(secret(2))"
        #expect(try OperationKeys.fromEnvironment(["SLUICE_KEYS": text])?.description == "sign a; encrypt b")
        let both = #expect(throws: OperationKeysError.self) {
            try OperationKeys.fromEnvironment(["SLUICE_KEYS": text, "SLUICE_KEYS_FILE": "/nowhere"])
        }
        #expect(both?.code == .ambiguous)
    }

    @Test("New files contain different keys")
    func newFiles() throws {
        let texts = (0..<20).map { _ in OperationKeys.newFile(id: "a", encrypts: true) }
        let keys = texts.flatMap { $0.split(whereSeparator: \.isNewline).map { $0.split(separator: " ")[2] } }
        #expect(Set(keys).count == 40)
    }
}
