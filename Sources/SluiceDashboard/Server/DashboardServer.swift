import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOPosix
import Operations
import Sluice

/// The web dashboard as a server of its own.
package struct DashboardServer: Sendable {
    private let site: Site

    /// - Parameters:
    ///   - onLogin: called when a login link was used, so that a new one can be printed.
    package init(
        _ client: SluiceClient,
        options: DashboardOptions,
        onLogin: @escaping @Sendable (_ name: String, Role) -> Void = { _, _ in }
    ) {
        site = Site(client, options) { onLogin($0.name, $0.role) }
    }

    /// Makes a link that opens a session once, as a path with a query.
    package func loginPath(for role: Role) -> String {
        let secret = site.sessions.makeLink(for: Visitor(name: site.options.identity, role: role))
        return site.links.to("login", query: ["token": secret]).text
    }

    /// The path of the overview.
    package var path: String { site.links.to().text }

    /// Makes the server, which runs until its task group shuts down gracefully. Streams end then.
    ///
    /// - Parameter onStart: called with the port once the server accepts connections.
    package func application(
        onStart: @escaping @Sendable (_ port: Int) async -> Void = { _ in }
    ) -> some ApplicationProtocol {
        let options = site.options
        var application = Application(
            router: Routes(site: site).router(),
            server: .http1(
                configuration: .init(
                    idleTimeout: Limits.idle,
                    httpDecoderConfiguration: .init(
                        maxHeaderFieldSize: Limits.headers,
                        maxHeaderListSize: Limits.headers,
                        maxHeaderFieldCount: Limits.headerCount
                    )
                )
            ),
            configuration: ApplicationConfiguration(
                address: .hostname(options.host, port: options.port),
                serverName: nil,
                availableConnectionsDelegate: MaximumAvailableConnections(Limits.connections)
            ),
            onServerRunning: { channel in await onStart(channel.localAddress?.port ?? options.port) },
            logger: Logger(label: "sluice.dashboard") { _ in SwiftLogNoOpLogHandler() }
        )
        if !options.isReadOnly { application.addServices(ChangeService(runner: site.changes)) }
        return application
    }
}

extension DashboardServer {
    /// The address cannot be used.
    package struct BindFailure: Error {
        package var reason: String
    }

    /// Runs the server until SIGTERM or SIGINT.
    ///
    /// - Throws: `BindFailure` if the server cannot listen.
    package func run(_ application: some ApplicationProtocol) async throws {
        do { try await application.runService() } catch let error as IOError {
            throw BindFailure(reason: "\(error)")
        } catch let error as NIOConnectionError {
            throw BindFailure(reason: "\(error)")
        }
    }
}
