import Foundation

/// An address as errors and logs may show it: user, password, query and fragment often are secrets.
struct PlainAddress: CustomStringConvertible {
    let description: String

    init(_ url: String) {
        guard var parts = URLComponents(string: url) else {
            description = "an address"
            return
        }
        (parts.user, parts.password, parts.fragment) = (nil, nil, nil)
        let hasQuery = parts.query != nil
        parts.query = nil
        description = (parts.string ?? "an address") + (hasQuery ? "?…" : "")
    }
}
