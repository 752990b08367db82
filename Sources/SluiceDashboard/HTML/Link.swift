/// A link inside the dashboard: an absolute path with a query, percent-encoded.
struct Link: Sendable, Equatable {
    let text: String

    fileprivate init(_ text: String) { self.text = text }
}

/// Makes links below the path at which the dashboard is served.
struct Links: Sendable, Equatable {
    /// The path before every link: empty, or `/jobs`.
    let basePath: String

    /// No link: an empty text.
    static let none = Link("")

    /// Makes a link. Names are percent-encoded, so each name comes back as it is.
    ///
    /// - Parameters:
    ///   - path: the parts of the path below the base path; none = the overview.
    ///   - query: the fields of the query. Empty ones are left out.
    func to(_ path: String..., query: KeyValuePairs<String, String?> = [:]) -> Link {
        link(path, query.map { ($0.key, $0.value) })
    }

    func link(_ path: [String], _ query: [(String, String?)]) -> Link {
        let fields = query.compactMap { name, value in
            value.flatMap { $0.isEmpty ? nil : "\(Self.encoded(name))=\(Self.encoded($0))" }
        }
        let whole = basePath + "/" + path.map { Self.encoded($0) }.joined(separator: "/")
        return Link(fields.isEmpty ? whole : whole + "?" + fields.joined(separator: "&"))
    }

    private static let plain = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~".utf8)
    private static let digits = Array("0123456789ABCDEF")

    private static func encoded(_ text: String, keeping kept: String = "") -> String {
        let plain = plain.union(kept.utf8)
        var encoded = ""
        for byte in text.utf8 {
            if plain.contains(byte) {
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                encoded += "%\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])"
            }
        }
        return encoded
    }
}

extension Links {
    /// A link from outside, if it leads to a page of this dashboard. Bytes of the query that a browser leaves as they
    /// are typed, such as `*` and `:`, are encoded.
    func inside(_ text: String) -> Link? {
        let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let (path, rest) = (parts[0], parts[0].dropFirst(basePath.count))
        guard path.hasPrefix(basePath), rest.hasPrefix("/"), !rest.hasPrefix("//"),
            path.utf8.allSatisfy(Self.plain.union("%/".utf8).contains)
        else { return nil }
        guard parts.count == 2 else { return Link(String(path)) }
        return Link(path + "?" + Self.encoded(String(parts[1]), keeping: "%/?=&+"))
    }
}
