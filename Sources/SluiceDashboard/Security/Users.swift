import Crypto
import Foundation

/// The people who may log in with a token of their own, or whose name a proxy gives.
///
/// A line of the file has a name, a role, and the SHA-256 hash of a long random token: `ann operator sha256:9f86…`. A
/// line with `-` in place of the hash is for a name that a proxy gives. The name `*` stands for all others of these.
package struct Users: Sendable, Equatable {
    private var roles: [String: Role] = [:]
    private var tokens: [Data: String] = [:]

    package init() {}

    /// A line that cannot be read.
    package struct LineError: Error, Equatable, CustomStringConvertible {
        package var line: Int
        package var reason: String

        package var description: String { "line \(line): \(reason)" }
    }

    /// Reads the lines of a file. Empty lines and lines that begin with `#` do not count.
    package init(parsing text: String) throws(LineError) {
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let words = line.split(whereSeparator: \.isWhitespace).map(String.init)
            guard let first = words.first, !first.hasPrefix("#") else { continue }
            do { try add(words) } catch { throw LineError(line: index + 1, reason: error.reason) }
        }
    }

    private mutating func add(_ words: [String]) throws(LineError) {
        func wrong(_ reason: String) -> LineError { LineError(line: 0, reason: reason) }
        guard words.count == 3 else { throw wrong("expected NAME ROLE sha256:HASH, or NAME ROLE -") }
        guard let role = Role(rawValue: words[1]) else {
            throw wrong("\(words[1]) is not a role; expected viewer, operator or admin")
        }
        guard roles[words[0]] == nil else { throw wrong("\(words[0]) has two lines") }
        roles[words[0]] = role
        guard words[2] != "-" else { return }
        guard words[0] != "*" else { throw wrong("* is for names that a proxy gives, so it has no token") }
        guard words[2].hasPrefix("sha256:"), let hash = Data(hex: words[2].dropFirst("sha256:".count)), hash.count == 32
        else { throw wrong("the hash is not sha256: and 64 hexadecimal digits") }
        guard tokens[hash] == nil else { throw wrong("the hash stands in another line, too") }
        tokens[hash] = words[0]
    }

    package var isEmpty: Bool { roles.isEmpty }

    /// The person with this token. The comparison is of hashes, so its time says nothing about a token.
    func visitor(token: String) -> Visitor? {
        guard let name = tokens[Data(SHA256.hash(data: Data(token.utf8)))], let role = roles[name] else { return nil }
        return Visitor(name: name, role: role)
    }

    /// The person with this name, which must come from a trusted proxy.
    func visitor(named name: String) -> Visitor? {
        // Some proxies name a person whom they do not know like this.
        guard !["*", "", "-", "(null)"].contains(name), let role = roles[name] ?? roles["*"] else { return nil }
        return Visitor(name: name, role: role)
    }
}

extension Data {
    fileprivate init?(hex: Substring) {
        let digits = hex.compactMap(\.hexDigitValue)
        guard digits.count == hex.count, digits.count.isMultiple(of: 2) else { return nil }
        self.init(stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) })
    }
}
