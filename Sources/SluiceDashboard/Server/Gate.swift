import HTTPTypes
import Hummingbird
import NIOCore

/// Decides before every route whether a request is answered, and sets the headers of every response.
///
/// The order is: host, login, origin. A page that fails is answered with a page, and the API with JSON.
struct Gate: RouterMiddleware {
    let site: Site

    func handle(
        _ request: Request,
        context: DashboardContext,
        next: (Request, DashboardContext) async throws -> Response
    ) async throws -> Response {
        var response: Response
        var context = context
        do {
            let isMounted = site.options.isMounted
            let visitors = Visitors(site: site, request: request, remote: context.remoteAddress)
            try checkHost(request)
            if !isMounted { context.visitor = try visitors.visitor() }
            try requireLogin(request, context)
            try checkOrigin(request, isFromProgram: !isMounted && visitors.hasToken)
            // Requests without a login read nothing, and a slow one must not take the turn of others.
            if context.visitor == nil {
                response = try await next(request, context)
            } else {
                let request = try await received(request)
                response = try await site.requests.run { [context] in try await next(request, context) }
            }
        } catch {
            response = answer(failure(error), request, context)
        }
        for (name, value) in ResponseRules.headers {
            if let name = HTTPField.Name(name) { response.headers[name] = value }
        }
        if response.status == .tooManyRequests, response.headers[.retryAfter] == nil {
            response.headers[.retryAfter] = "\(LoginLimit.span.components.seconds)"
        }
        if response.headers[.cacheControl] == nil { response.headers[.cacheControl] = ResponseRules.noStore }
        return response
    }

    /// The request with its whole body, so that a slow one takes no turn of those that read.
    private func received(_ request: Request) async throws -> Request {
        guard ![.get, .head].contains(request.method) else { return request }
        return try await site.bodies.run {
            var request = request
            _ = try await request.collectBody(upTo: Limits.operationForm)
            return request
        }
    }

    private func checkHost(_ request: Request) throws(PageFailure) {
        let host = request.head.authority
        let rule = HostRule(bind: site.options.host, others: site.options.hosts)
        guard site.options.isMounted || rule.allows(host) else {
            throw PageFailure(
                status: .misdirectedRequest,
                title: "Unknown host",
                message: "This dashboard does not serve the host \(host ?? "(none)").",
                notes: ["Start it with --host NAME to serve a name."]
            )
        }
    }

    /// - Parameter isFromProgram: whether the request has a known token, which no page of another site can add.
    private func checkOrigin(_ request: Request, isFromProgram: Bool) throws(PageFailure) {
        let isAllowed = CrossSiteRule.allows(
            isChanging: ![.get, .head].contains(request.method) && !isFromProgram,
            site: request.headers[.fetchSite],
            origin: request.headers[.origin],
            host: request.head.authority
        )
        guard isAllowed else { throw .forbidden("The request comes from another site. Nothing was changed.") }
    }

    private func requireLogin(_ request: Request, _ context: DashboardContext) throws(PageFailure) {
        guard context.visitor == nil else { return }
        let path = request.uri.path.dropFirst(site.options.basePath.count)
        guard !Self.isPublic(path) else { return }
        throw PageFailure(
            status: .unauthorized,
            title: "Log in",
            message: "This page needs a login.",
            notes: [
                "Open the link that the dashboard has printed where it was started. The link works once; afterwards "
                    + "the dashboard prints a new one."
            ],
            offersLogin: !site.options.users.isEmpty
        )
    }

    /// Whether a path below the base path is served without a login.
    private static func isPublic(_ path: Substring) -> Bool {
        ["/login", "/healthz", "/readyz", "/theme"].contains(path) || path.hasPrefix("/assets/")
    }

    private func failure(_ error: any Error) -> PageFailure {
        if error is NIOTooManyBytesError {
            return PageFailure(
                status: .contentTooLarge,
                title: "Too large",
                message: "A request has at most 1 MB, and at most 4 MB with the arguments of an operation."
            )
        }
        if error is RequestLimit.Busy {
            return PageFailure(
                status: .serviceUnavailable,
                title: "Too many requests",
                message: "\(Limits.requestsWaiting) requests wait already. Nothing was changed. Try again in a moment."
            )
        }
        guard let error = error as? HTTPError else { return PageFailure(error) }
        switch error.status {
        case .notFound: return .notFound("There is no page at this address.")
        default: return PageFailure(status: error.status, title: "This did not work", message: error.body ?? "")
        }
    }

    private func answer(_ failure: PageFailure, _ request: Request, _ context: DashboardContext) -> Response {
        if request.uri.path.hasPrefix(site.options.basePath + "/api/") {
            return .json(APIError.object(failure), status: failure.status)
        }
        let page = FailurePage(failure, site).content
        let layout = Layout(site: site, visitor: context.visitor, theme: request.theme)
        return .html(layout.document(page), status: failure.status)
    }
}

extension HTTPField.Name {
    static let fetchSite = HTTPField.Name("Sec-Fetch-Site")!
}
