/// A link inside the dashboard: an absolute path with a query, percent-encoded.
struct Link: Sendable, Equatable {
    let text: String

    fileprivate init(_ text: String) { self.text = text }
}

/// Makes links below the path at which the dashboard is served.
struct Links: Sendable, Equatable {
    /// The path before every link: empty, or `/jobs`.
    let basePath: String

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
        let whole = basePath + "/" + path.map(Self.encoded).joined(separator: "/")
        return Link(fields.isEmpty ? whole : whole + "?" + fields.joined(separator: "&"))
    }

    private static let plain = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~".utf8)
    private static let digits = Array("0123456789ABCDEF")

    private static func encoded(_ text: String) -> String {
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
    /// A link from outside, if it leads to a page of this dashboard: only unreserved characters, escapes, and the
    /// signs of a query.
    func inside(_ text: String) -> Link? {
        let rest = text.dropFirst(basePath.count)
        let allowed = Self.plain.union("%/?=&+".utf8)
        guard text.hasPrefix(basePath), rest.hasPrefix("/"), !rest.hasPrefix("//"),
            text.utf8.allSatisfy(allowed.contains)
        else { return nil }
        return Link(text)
    }
}
