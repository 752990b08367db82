import HTTPTypes
import Hummingbird

/// Login by a link or by a token, and logout.
struct LoginRoutes: Sendable {
    let site: Site

    func add(to group: RouterGroup<DashboardContext>) {
        group.get("login") { request, context in
            // HEAD does not use up a link: programs that show a link ask so.
            guard request.method == .get, let token = request.fields["token"] else { throw failure }
            let visitors = Visitors(site: site, request: request, remote: context.remoteAddress)
            guard let visitor = try visitors.visitor(of: token, site.sessions.redeem) else { throw failure }
            site.onLogin(visitor)
            return opened(visitor, request, context)
        }
        group.post("login") { request, context in
            let form = try await request.form()
            let visitors = Visitors(site: site, request: request, remote: context.remoteAddress)
            let token = form["token"] ?? ""
            guard let visitor = try visitors.visitor(of: token, site.options.users.visitor(token:)) else {
                throw PageFailure(
                    status: .unauthorized,
                    title: "This token is not known",
                    message: "The users file of the dashboard has no line with the hash of this token.",
                    offersLogin: !site.options.users.isEmpty
                )
            }
            return opened(visitor, request, context)
        }
        group.post("logout") { request, _ in
            if let secret = request.cookie(site.cookie) { site.sessions.end(secret) }
            return Response.seeOther(site.links.to(), cookie: site.setCookie(site.cookie, "", "; Max-Age=0"))
        }
    }

    private var failure: PageFailure {
        PageFailure(
            status: .unauthorized,
            title: "This login link does not work",
            message: "The link was used already, or the dashboard was started again since it was printed.",
            notes: ["The dashboard prints a new link each time one is used."],
            offersLogin: !site.options.users.isEmpty
        )
    }

    private func opened(_ visitor: Visitor, _ request: Request, _ context: DashboardContext) -> Response {
        let isEncrypted =
            site.options.proxy?.trusts(context.remoteAddress) ?? false
            && request.headers[HTTPField.Name("X-Forwarded-Proto")!] == "https"
        let secret = site.sessions.open(for: visitor)
        let more = "; HttpOnly" + (isEncrypted ? "; Secure" : "")
        return Response.seeOther(site.links.to(), cookie: site.setCookie(site.cookie, secret, more))
    }
}
