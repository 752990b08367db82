import Foundation
import Operations

/// An HTTP URL with its credentials.
struct WebAddress: Sendable {
    /// The URL without user and password.
    let url: String
    /// The value of the header `Authorization` for the user and password; nil = none.
    let authorization: String?
    /// The URL for errors and logs, without user, password, query and fragment, which are often secrets.
    let plain: String
    /// The given URL with the password hidden.
    let shown: String

    /// Reads `http://user:password@host/path`.
    ///
    /// - Returns: nil if the text is not an http or https URL with a host.
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
    /// Returns an argument that is an HTTP URL.
    func address(_ key: String) throws -> WebAddress {
        guard let address = WebAddress(try string(key)) else {
            throw InvalidArguments(name, "\"\(key)\" must be an http or https URL")
        }
        return address
    }
}
