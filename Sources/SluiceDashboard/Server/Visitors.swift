import HTTPTypes
import Hummingbird
import NIOCore
import TerminalText

/// Finds out who sends a request: by a trusted proxy's header, a token, or a session.
struct Visitors {
    let site: Site
    let request: Request
    let remote: SocketAddress?

    /// The token of a program; nil = none.
    private var token: String? {
        guard let field = request.headers[.authorization], field.lowercased().hasPrefix("bearer ") else { return nil }
        return String(field.dropFirst("bearer ".count))
    }

    /// Whether the request has the token of a person in a header. Pages of other sites cannot know one.
    var hasToken: Bool { !site.options.isOpen && token.flatMap { site.options.users.visitor(token: $0) } != nil }

    /// The address that wrong secrets count for. Behind a trusted proxy, that of the browser.
    private var address: String {
        let forwarded = request.headers[values: HTTPField.Name("X-Forwarded-For")!].last?.split(separator: ",").last
        if site.options.proxy?.trusts(remote) ?? false, let forwarded { return String(forwarded) }
        return remote?.ipAddress ?? ""
    }

    /// Finds the visitor of a secret that may be a guess.
    ///
    /// - Throws: `PageFailure` if the address has sent too many wrong secrets.
    func visitor(of secret: String, _ find: (String) -> Visitor?) throws(PageFailure) -> Visitor? {
        if let wait = site.logins.wait(of: address) {
            throw PageFailure(
                status: .tooManyRequests,
                title: "Too many wrong logins",
                message: "Logins from this address are refused for \(DurationText.coarse(wait))."
            )
        }
        let visitor = find(secret)
        if visitor == nil { site.logins.failed(address) }
        return visitor
    }

    /// The person who sends the request; nil = unknown.
    ///
    /// - Throws: `PageFailure` if the address has sent too many wrong secrets.
    func visitor() throws(PageFailure) -> Visitor? {
        let options = site.options
        if options.isOpen { return Visitor(name: options.identity, role: .admin) }
        if let token { return try visitor(of: token, options.users.visitor(token:)) }
        if let proxy = options.proxy, proxy.trusts(remote), let name = HTTPField.Name(proxy.header) {
            // Several headers could come from the browser and the proxy, and the wrong one would count.
            let names = request.headers[values: name]
            if names.count == 1, let visitor = options.users.visitor(named: names[0]) { return visitor }
        }
        return request.cookie(site.cookie).flatMap { site.sessions.visitor($0) }
    }
}
