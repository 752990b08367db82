import HTTPTypes
import Hummingbird
import Logging
import Operations
import Sluice

/// The web dashboard as a part of a Hummingbird app.
///
/// The app decides who may see it. Middleware of the app runs before, and `person` says who asks and with which rights.
///
/// ```swift
/// let dashboard = Dashboard(client, path: "/jobs")
/// dashboard.addRoutes(to: router) { request, context in
///     context.identity.map { .init(name: $0.email, role: .operator) }
/// }
/// ```
public struct Dashboard: Sendable {
    /// A person who uses the dashboard.
    public struct Person: Sendable {
        /// The rights of a person.
        public enum Role: Sendable {
            /// Reads everything, changes nothing.
            case viewer
            /// Also cancels, retries, edits, reruns, holds and releases operations, pauses queues and schedules, runs
            /// schedules now, and makes workers quiet.
            case `operator`
            /// Also enqueues, removes operations and schedules, sets limits, stops workers, and changes their slots.
            case admin
        }

        /// The name that changes are stored with.
        public var name: String
        /// The rights of the person.
        public var role: Role

        /// Makes a person.
        ///
        /// - Parameters:
        ///   - name: the name that changes are stored with.
        ///   - role: the rights of the person.
        public init(name: String, role: Role) { (self.name, self.role) = (name, role) }
    }

    let site: Site

    /// Makes a dashboard of the client's namespace.
    ///
    /// - Parameters:
    ///   - client: the client; its user needs the permissions of an operator.
    ///   - path: the path below which the dashboard is served, such as `/jobs`; only letters, digits, `-`, `_`, `.` and
    ///     `/`.
    ///   - isReadOnly: whether the dashboard has no address that changes something.
    public init(_ client: SluiceClient, path: String, isReadOnly: Bool = false) {
        guard let path = DashboardOptions.basePath(path) else {
            preconditionFailure("\(path) is not a plain path; write one like /jobs")
        }
        var options = DashboardOptions(namespace: client.namespace, identity: SluiceClient.identity)
        (options.basePath, options.isReadOnly, options.isMounted) = (path, isReadOnly, true)
        self.init(client, options)
    }

    init(_ client: SluiceClient, _ options: DashboardOptions) { site = Site(client, options) }

    /// Adds the pages to an app's router.
    ///
    /// - Parameters:
    ///   - router: the router of the app.
    ///   - person: returns the person who asks; nil = the request is answered with 401.
    public func addRoutes<Context: RequestContext>(
        to router: Router<Context>,
        person: @escaping @Sendable (Request, Context) async throws -> Person?
    ) {
        let responder = Routes(site: site).router().buildResponder()
        let respond: @Sendable (Request, Context) async throws -> Response = { request, context in
            let inner = DashboardContext(logger: context.logger, visitor: try await person(request, context)?.visitor)
            return try await responder.respond(to: request, context: inner)
        }
        for path in ["", "/**"] {
            for method in [HTTPRequest.Method.get, .head, .post] {
                router.on(RouterPath(site.options.basePath + path), method: method, use: respond)
            }
        }
    }
}

extension Dashboard.Person {
    fileprivate var visitor: Visitor {
        switch role {
        case .viewer: Visitor(name: name, role: .viewer)
        case .operator: Visitor(name: name, role: .operate)
        case .admin: Visitor(name: name, role: .admin)
        }
    }
}
