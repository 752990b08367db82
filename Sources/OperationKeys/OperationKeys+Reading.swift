import Crypto
import Foundation
import Operations

/// An error in a set of keys. The message never contains text of the keys.
public struct OperationKeysError: Error, Sendable, Equatable, CustomStringConvertible {
    /// A closed list, safe as a metric label.
    public enum Code: String, Sendable, CaseIterable {
        /// The file does not exist or cannot be read.
        case unreadable
        /// Other users may read or change the file.
        case exposed
        /// A line is no key.
        case malformed
        /// Two keys of one role have the same id.
        case duplicate
        /// The text holds no key.
        case empty
        /// Both a file and the keys themselves are given.
        case ambiguous
    }

    public let code: Code
    /// One sentence with the place, without secrets.
    public let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    public var description: String { message }
}

extension OperationKeys {
    /// The environment variable that names a file of keys.
    public static let fileVariable = "SLUICE_KEYS_FILE"
    /// The environment variable that holds the keys themselves, as lines that are separated by line ends or semicolons.
    public static let variable = "SLUICE_KEYS"
    private enum Role: String { case sign, encrypt }
    private static let keyBytes = 32
    private static let largestKeyBytes = 1024
    private static let largestFileBytes = 1 << 20

    /// Reads keys from a file's text.
    ///
    /// - Parameters:
    ///   - text: lines of role, id and key as in the type's documentation; `#` begins a comment.
    ///   - source: the origin of the text, for messages.
    /// - Throws: `OperationKeysError` with the number of the line, never its text.
    public init(parsing text: String, from source: String = "the text") throws(OperationKeysError) {
        var keys: [Role: [Key]] = [:]
        for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.endsLine).enumerated() {
            let words = line.prefix { $0 != "#" }.split(whereSeparator: \.isWhitespace).map(String.init)
            guard !words.isEmpty else { continue }
            let place = "\(source), line \(index + 1)"
            let (role, key) = try Self.key(words, place)
            guard !(keys[role] ?? []).contains(where: { $0.id == key.id }) else {
                throw OperationKeysError(.duplicate, "\(place): an earlier \(role.rawValue) key has the same id")
            }
            keys[role, default: []].append(key)
        }
        guard !keys.isEmpty else { throw OperationKeysError(.empty, "\(source) contains no key") }
        signing = keys[.sign] ?? []
        encryption = keys[.encrypt] ?? []
    }

    private static func key(_ words: [String], _ place: String) throws(OperationKeysError) -> (Role, Key) {
        guard words.count == 3, let role = Role(rawValue: words[0]) else {
            throw OperationKeysError(.malformed, "\(place): expected \"sign ID KEY\" or \"encrypt ID KEY\"")
        }
        guard NameRule.allows(words[1]), words[1].utf8.count <= 64 else {
            throw OperationKeysError(.malformed, "\(place): an id is 1 to 64 letters, digits, '.', '_' or '-'")
        }
        let length = role == .sign ? keyBytes...largestKeyBytes : keyBytes...keyBytes
        guard let secret = Data(base64Encoded: words[2]), length.contains(secret.count) else {
            let size = role == .sign ? "at least \(keyBytes)" : "\(keyBytes)"
            // Without the id: in a line with swapped words, the id is the secret.
            throw OperationKeysError(
                .malformed,
                "\(place): the key is not \(size) bytes in base 64 (openssl rand -base64 \(keyBytes))"
            )
        }
        return (role, Key(id: words[1], secret: SymmetricKey(data: secret)))
    }

    /// Reads a file that only this user can access.
    ///
    /// - Parameter path: a file without any permission for group and others.
    /// - Throws: `OperationKeysError`; `.exposed` if other users may read or change it.
    public init(contentsOfFile path: String) throws(OperationKeysError) {
        let name = OperationsError.quoted(path)
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw OperationKeysError(.unreadable, "the keys file \(name): \(String(cString: strerror(errno)))")
        }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        // Checks the open file, so that the checked file is the file that is read.
        var facts = stat()
        guard fstat(descriptor, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else {
            throw OperationKeysError(.unreadable, "the keys file \(name) is not a regular file")
        }
        guard facts.st_mode & 0o077 == 0 else {
            let mode = String(facts.st_mode & 0o777, radix: 8)
            throw OperationKeysError(
                .exposed,
                "the keys file \(name) has the mode \(mode), so other users can read or change it: chmod 600 \(name)"
            )
        }
        guard facts.st_size <= Self.largestFileBytes, let data = try? file.readToEnd() ?? Data(),
            let text = String(bytes: data, encoding: .utf8)
        else { throw OperationKeysError(.unreadable, "the keys file \(name) is not UTF-8 text of at most 1 MiB") }
        try self.init(parsing: text, from: "the keys file \(name)")
    }

    /// Reads the keys that the environment names or holds.
    ///
    /// - Parameter environment: `SLUICE_KEYS_FILE` names a file, `SLUICE_KEYS` holds keys.
    /// - Returns: nil if neither is set.
    /// - Throws: `OperationKeysError`; `.ambiguous` if both are set.
    public static func fromEnvironment(
        _ environment: [String: String]
    ) throws(OperationKeysError) -> OperationKeys? {
        let file = environment[fileVariable].flatMap { $0.isEmpty ? nil : $0 }
        let text = environment[variable].flatMap { $0.isEmpty ? nil : $0 }
        guard file == nil || text == nil else {
            throw OperationKeysError(.ambiguous, "both \(fileVariable) and \(variable) are set: use one of them")
        }
        if let file { return try OperationKeys(contentsOfFile: file) }
        return try text.map { text throws(OperationKeysError) in try OperationKeys(parsing: text, from: variable) }
    }

    /// Returns the text of a new keys file.
    ///
    /// - Parameters:
    ///   - id: the id of the keys.
    ///   - encrypts: whether the file has an encryption key as well as a signing key.
    package static func newFile(id: String, encrypts: Bool) -> String {
        let roles: [Role] = encrypts ? [.sign, .encrypt] : [.sign]
        return roles.map { role in
            let secret = SymmetricKey(size: .bits256).withUnsafeBytes { Data($0) }
            return "\(role.rawValue) \(id) \(secret.base64EncodedString())\n"
        }.joined()
    }
}

extension Character {
    fileprivate var endsLine: Bool { isNewline || self == ";" }
}
