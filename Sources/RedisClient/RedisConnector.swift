import Logging
import NIOCore
import NIOPosix
import NIOSSL

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Makes connections to one endpoint, always from scratch.
struct RedisConnector: Sendable {
    var endpoint: RedisEndpoint
    let configuration: RedisConnectionConfiguration
    let logger: Logger
    /// Whether a connection counts as made only after an answer to PING. A probe also talks to a server that is
    /// LOADING.
    var greetsWithPing = true
    /// The step that the current try waits for.
    var wait = ConnectWait()

    /// - Parameter slot: in a cluster, connect to the node that has this slot; nil takes any node.
    func connect(on eventLoop: any EventLoop, near slot: UInt16? = nil) -> EventLoopFuture<RedisConnection> {
        switch endpoint.address {
        case .tcp, .unix: connectDirectly(on: eventLoop)
        case .sentinels(let sentinels):
            eventLoop.flatSubmit { SentinelSearch(sentinels, connector: self, on: eventLoop).run() }
        case .cluster: eventLoop.flatSubmit { connectToNode(of: slot, on: eventLoop) }
        }
    }

    private func connectToNode(of slot: UInt16?, on eventLoop: any EventLoop) -> EventLoopFuture<RedisConnection> {
        ClusterSearch(self, on: eventLoop).run().flatMap { found in
            guard let slot, let owner = found.map[slot], owner != found.host else {
                return eventLoop.makeSucceededFuture(found.connection)
            }
            found.connection.close()
            var connector = self
            connector.endpoint = endpoint.at(owner)
            return connector.connectDirectly(on: eventLoop)
        }
    }

    /// Connects to the server that the endpoint names.
    func connectDirectly(on eventLoop: any EventLoop) -> EventLoopFuture<RedisConnection> {
        let promise = eventLoop.makePromise(of: RedisConnection.self)
        wait.now("a connection to \(endpoint.place)")
        let attempt = eventLoop.flatSubmit { open(on: eventLoop, isWanted: promise.futureResult) }
        let timer = eventLoop.scheduleTask(in: TimeAmount(configuration.connectTimeout)) {
            promise.fail(timeout)
        }
        attempt.whenComplete { result in
            timer.cancel()
            promise.completeWith(result.mapError { located(ConnectFailure.describe($0, during: .connect)) })
        }
        return promise.futureResult
    }

    private var timeout: RedisError {
        RedisError(
            .unreachable,
            "cannot connect to Redis: waited \(configuration.connectTimeout) for \(wait)",
            endpoint: endpoint.description
        )
    }

    /// The answer that the login waits for.
    private var answer: String {
        "an answer from \(endpoint.place)" + (endpoint.tls == nil ? " (does it expect TLS? then use rediss://)" : "")
    }

    private func located(_ error: RedisError) -> RedisError {
        var error = error
        error.endpoint = error.endpoint ?? endpoint.description
        return error
    }

    /// - Parameter isWanted: when this fails first, the half-made connection is closed.
    private func open(
        on eventLoop: any EventLoop,
        isWanted: EventLoopFuture<RedisConnection>
    ) -> EventLoopFuture<RedisConnection> {
        let handler = CommandHandler(
            endpoint: endpoint.description,
            eventLoop: eventLoop,
            limits: configuration.replyLimits
        )
        let tls: NIOSSLContext?
        do { tls = try makeTLSContext() } catch { return eventLoop.makeFailedFuture(error) }
        return bootstrap(on: eventLoop, tls: tls, handler: handler).flatMap { channel in
            isWanted.whenFailure { _ in channel.close(promise: nil) }
            let handshake = "the TLS handshake with \(endpoint.place) (does it speak TLS on this port?)"
            wait.now(endpoint.tls == nil ? answer : handshake)
            let connection = RedisConnection(connector: self, channel: channel, handler: handler)
            return greet(connection).flatMapErrorThrowing { error in
                channel.close(promise: nil)
                throw error
            }
        }
    }

    private func bootstrap(
        on eventLoop: any EventLoop,
        tls: NIOSSLContext?,
        handler: CommandHandler
    ) -> EventLoopFuture<any Channel> {
        let bootstrap = ClientBootstrap(group: eventLoop)
            .connectTimeout(TimeAmount(configuration.connectTimeout))
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let tls { try secure(channel, tls, handler) }
                    try channel.pipeline.syncOperations.addHandler(handler)
                }
            }
        switch endpoint.address {
        case .unix(let path): return bootstrap.connect(unixDomainSocketPath: path)
        case .tcp(let host, let port): return withSocketOptions(bootstrap).connect(host: host, port: port)
        case .sentinels, .cluster: preconditionFailure("the address must be found before")
        }
    }

    /// Notices a dead peer both on an idle connection (keepalive) and while data is unacknowledged (user timeout).
    private func withSocketOptions(_ bootstrap: ClientBootstrap) -> ClientBootstrap {
        var bootstrap = bootstrap.channelOption(.tcpOption(.tcp_nodelay), value: 1)
        if let keepalive = configuration.keepalive {
            bootstrap = bootstrap.channelOption(.socketOption(.so_keepalive), value: 1)
            #if os(Linux)
                let seconds = SocketOptionValue(max(1, keepalive.components.seconds))
                bootstrap = bootstrap.channelOption(LinuxTCP.keepIdle, value: seconds)
                    .channelOption(LinuxTCP.keepInterval, value: max(1, seconds / 3))
                    .channelOption(LinuxTCP.keepCount, value: 3)
            #endif
        }
        #if os(Linux)
            if let userTimeout = configuration.userTimeout {
                let milliseconds = TimeAmount(userTimeout).nanoseconds / 1_000_000
                bootstrap = bootstrap.channelOption(LinuxTCP.userTimeout, value: .init(milliseconds))
            }
        #endif
        return bootstrap
    }
}

/// Socket options of linux/tcp.h that NIO has no name for.
private enum LinuxTCP {
    static let keepIdle = option(4)
    static let keepInterval = option(5)
    static let keepCount = option(6)
    static let userTimeout = option(18)

    private static func option(_ number: CInt) -> ChannelOptions.Types.SocketOption {
        ChannelOptions.Types.SocketOption(level: .tcp, name: NIOBSDSocket.Option(rawValue: number))
    }
}

extension TLSConfiguration {
    /// TLS 1.2 or newer, with verified certificate and host name.
    fileprivate static var standard: TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        return configuration
    }
}

extension RedisEndpoint.TLS {
    /// The authorities that may have signed the certificate, for messages.
    fileprivate var authorities: String {
        if let caCertificateFile { return "an authority in \(caCertificateFile)" }
        if configuration != nil { return "an authority that the TLS configuration trusts" }
        return "an authority that this system trusts (?cacert=FILE trusts those in a file instead)"
    }
}

// TLS verifies certificate and host name, unless the configuration of the program says otherwise.
extension RedisConnector {
    private func makeTLSContext() throws -> NIOSSLContext? {
        guard let tls = endpoint.tls else { return nil }
        var options = tls.configuration ?? .standard
        if let file = tls.caCertificateFile { options.trustRoots = .file(file) }
        do {
            return try NIOSSLContext(configuration: options)
        } catch {
            let source =
                tls.caCertificateFile.map { "the CA file \($0)" }
                ?? (tls.configuration == nil ? "the system's certificates" : "the TLS configuration")
            let reason = Self.reason(whyUnreadable: tls.caCertificateFile) ?? String(describing: error)
            throw RedisError(.tls, "cannot read \(source): \(reason)", cause: error, endpoint: endpoint.description)
        }
    }

    private func secure(_ channel: any Channel, _ context: NIOSSLContext, _ handler: CommandHandler) throws {
        let tls = try tlsHandler(context)
        try channel.pipeline.syncOperations.addHandler(tls)
        handler.onSecured = { wait.now(answer) }
        handler.peer = { [weak tls] in
            TLSPeer(
                name: endpoint.firstHost?.name ?? endpoint.place,
                authorities: endpoint.tls?.authorities ?? "",
                certificate: tls?.peerCertificate
            )
        }
    }

    private func tlsHandler(_ context: NIOSSLContext) throws -> NIOSSLClientHandler {
        guard case .tcp(let host, _) = endpoint.address, !Self.isAddress(host) else {
            // Without a name, the certificate is verified against the address.
            return try NIOSSLClientHandler(context: context, serverHostname: nil)
        }
        return try NIOSSLClientHandler(context: context, serverHostname: host)
    }

    /// - Returns: the reason why the file is no list of authorities; nil if no file is given.
    private static func reason(whyUnreadable file: String?) -> String? {
        guard let file else { return nil }
        guard let stream = fopen(file, "r") else { return String(cString: strerror(errno)) }
        fclose(stream)
        return "it is not a list of certificates in PEM form"
    }

    private static func isAddress(_ host: String) -> Bool {
        (try? SocketAddress(ipAddress: host, port: 0)) != nil
    }
}

// The login: user, database, client name, and whether the server answers.
extension RedisConnector {
    private enum Step {
        case auth, select, name, ping
    }

    private func greet(_ connection: RedisConnection) -> EventLoopFuture<RedisConnection> {
        let steps = greeting()
        return connection.submit(steps.map(\.command), deadline: configuration.connectTimeout)
            .flatMapErrorThrowing { throw lostDuringGreeting($0, connection.handler.lastWords) }
            .flatMapThrowing { replies in
                for (step, reply) in zip(steps, replies) { try check(step.step, reply) }
                return connection
            }
    }

    private func greeting() -> [(step: Step, command: RedisCommand)] {
        var steps: [(step: Step, command: RedisCommand)] = []
        if let user = endpoint.user {
            steps.append((.auth, RedisCommand("AUTH", user, endpoint.password ?? "")))
        } else if let password = endpoint.password {
            steps.append((.auth, RedisCommand("AUTH", password)))
        }
        if endpoint.database != 0 { steps.append((.select, RedisCommand("SELECT", endpoint.database))) }
        if let name = configuration.clientName {
            steps.append((.name, RedisCommand("CLIENT", "SETNAME", Self.clientName(name))))
        }
        if greetsWithPing { steps.append((.ping, RedisCommand("PING"))) }
        return steps
    }

    private func check(_ step: Step, _ reply: RedisValue) throws(RedisError) {
        guard let refusal = reply.error else { return }
        var error = RedisError(server: refusal, endpoint: endpoint.description)
        switch step {
        case .auth:
            // LOADING and the like are states of the server, not a wrong password.
            if !refusal.code.demandsReconnect || refusal.code == .noAuth { error.code = .authentication }
        case .select: error.message = "cannot select database \(endpoint.database): \(refusal.message)"
        case .name:
            logger.debug("Redis refused the client name", metadata: ["error": "\(refusal.message)"])
            return
        case .ping:
            // A user without permission for PING: the refusal shows that the server answers.
            if refusal.code == .noPermission { return }
        }
        throw error
    }

    /// - Parameter lastWords: the error reply after which the connection ended.
    private func lostDuringGreeting(_ error: any Error, _ lastWords: RedisServerError?) -> RedisError {
        guard var error = error as? RedisError else { return ConnectFailure.describe(error, during: .connect) }
        error.outcomeIsUnknown = false
        if let lastWords, error.code != .timeout {
            error = RedisError(server: lastWords, endpoint: endpoint.description)
            error.message = "Redis refused the connection: \(lastWords.message)"
            return error
        }
        switch error.code {
        case .closed:
            // With TLS, a server at its limit of connections closes before the handshake, without an error.
            let hint =
                endpoint.tls == nil ? "does it expect TLS? then use rediss://" : "has it reached maxclients?"
            error.code = .unreachable
            error.message = "the server closed the connection during login (\(hint)): \(error.message)"
        case .timeout:
            error.code = .unreachable
            error.message = "the server accepted the connection, but there was no answer from \(endpoint.place)"
        default: break
        }
        return error
    }

    /// CLIENT SETNAME refuses spaces and control characters.
    private static func clientName(_ name: String) -> String {
        String(decoding: name.utf8.map { (33...126).contains($0) ? $0 : UInt8(ascii: "-") }, as: UTF8.self)
    }
}
