import Foundation
import Operations

/// An address of HTTP, with what it says about who asks.
struct WebAddress: Sendable {
    /// Without user and password: what is asked for.
    let url: String
    /// The header `Authorization` that its user and password mean; nil = it has none.
    let authorization: String?
    /// As errors and logs may show it: user, password, query and fragment often are secrets.
    let plain: String
    /// As it was given, without the password.
    let shown: String

    /// Reads `http://user:password@host/path`.
    ///
    /// - Returns: nil if it is no http or https address with a host.
    init?(_ text: String) {
        guard let scheme = URL(string: text)?.scheme?.lowercased(), scheme == "http" || scheme == "https",
            var parts = URLComponents(string: text), let host = parts.host, !host.isEmpty
        else { return nil }
        if parts.user == nil, parts.password == nil {
            (url, authorization) = (text, nil)
        } else {
            let credentials = "\(parts.user ?? ""):\(parts.password ?? "")"
            authorization = "Basic \(Data(credentials.utf8).base64EncodedString())"
            (parts.user, parts.password) = (nil, nil)
            guard let rest = parts.string else { return nil }
            url = rest
        }
        var known = parts
        (known.user, known.password, known.query, known.fragment) = (nil, nil, nil, nil)
        plain = (known.string ?? "an address") + (parts.query == nil ? "" : "?…")
        shown = URLPasswords.masked(text)
    }
}

extension Arguments {
    /// An address of HTTP.
    func address(_ key: String) throws -> WebAddress {
        guard let address = WebAddress(try string(key)) else {
            throw InvalidArguments(name, "\"\(key)\" must be an http or https address")
        }
        return address
    }
}
