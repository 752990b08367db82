import HTTPTypes
import Hummingbird
import NIOCore

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

    var visitor: Visitor? {
        let options = site.options
        if options.isOpen { return Visitor(name: options.identity, role: .admin) }
        if let token { return options.users.visitor(token: token) }
        if let proxy = options.proxy, proxy.trusts(remote), let name = HTTPField.Name(proxy.header) {
            // Several headers could come from the browser and the proxy, and the wrong one would count.
            let names = request.headers[values: name]
            if names.count == 1, let visitor = options.users.visitor(named: names[0]) { return visitor }
        }
        return request.cookie(site.cookie).flatMap { site.sessions.visitor($0) }
    }
}
