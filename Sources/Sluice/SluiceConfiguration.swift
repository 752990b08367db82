import EmbeddedRedis
import NIOCore
import NIOPosix
import NIOSSL
import RedisBroker
import RedisClient

/// The settings of a client: where Redis is, how to log in, how long to wait. Every setting but the server has a
/// default.
///
/// ```swift
/// var configuration = SluiceConfiguration(.tcp(host: "redis.internal"), namespace: "shop")
/// configuration.credentials = .init(user: "producer", password: password)
/// configuration.tls = .makeClientConfiguration()
/// let sluice = try SluiceClient(configuration: configuration)
/// ```
///
/// A worker that is made of the client uses the same server, credentials, TLS, event loop group and time-outs.
public struct SluiceConfiguration: Sendable {
    /// The server that has the queues.
    public var server: Server
    /// The namespace of all queues. Clients of two namespaces never see each other's operations.
    public var namespace: String
    /// The user to log in as; nil = the one of the URL, or none.
    public var credentials: Credentials?
    /// TLS with this configuration, for example with a client certificate or your own authorities; nil = TLS only if
    /// the URL asks for it (`rediss://`), with the authorities of the system.
    ///
    /// Host names are verified unless you turn `certificateVerification` off.
    public var tls: TLSConfiguration?
    /// The time limits of the client's calls.
    public var timeouts: Timeouts
    /// Keeps operations in memory while Redis is away; nil = an enqueue throws then.
    public var buffering: EnqueueBuffering?
    /// Sign and encrypt enqueued operations; nil = neither.
    public var keys: OperationKeys?
    /// Code around each enqueue of the client and each run of its workers, the outermost first.
    public var middleware: [any OperationMiddleware]
    /// Runs the connections. Shut it down after the client is closed. The heartbeat of a worker has a thread of its
    /// own, so that busy event loops do not cost the worker its operations.
    public var eventLoopGroup: any EventLoopGroup

    /// Creates a configuration.
    ///
    /// - Parameters:
    ///   - server: the server that has the queues.
    ///   - namespace: the namespace of all queues.
    ///   - credentials: the user to log in as; nil = the one of the URL, or none.
    ///   - tls: the configuration of TLS; nil = what the URL says.
    ///   - timeouts: the time limits of the client's calls.
    ///   - buffering: keeps operations in memory while Redis is away; nil = an enqueue throws then.
    ///   - keys: sign and encrypt enqueued operations; nil = neither.
    ///   - middleware: code around each enqueue of the client and each run of its workers, the outermost first.
    ///   - eventLoopGroup: runs the connections.
    public init(
        _ server: Server,
        namespace: String = SluiceDefaults.namespace,
        credentials: Credentials? = nil,
        tls: TLSConfiguration? = nil,
        timeouts: Timeouts = Timeouts(),
        buffering: EnqueueBuffering? = nil,
        keys: OperationKeys? = nil,
        middleware: [any OperationMiddleware] = [],
        eventLoopGroup: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
    ) {
        self.server = server
        self.namespace = namespace
        self.credentials = credentials
        self.tls = tls
        self.timeouts = timeouts
        self.buffering = buffering
        self.keys = keys
        self.middleware = middleware
        self.eventLoopGroup = eventLoopGroup
    }

    /// A Redis (6.2 or newer) or Valkey server, a group of sentinels, or a cluster.
    public struct Server: Sendable, Hashable {
        enum Kind: Hashable {
            case url(String)
            case tcp(host: String, port: Int, database: Int)
            case unixSocket(path: String, database: Int)
            case embedded
        }

        let kind: Kind

        /// The server of a URL, which is checked when the client is made.
        ///
        /// - Parameter url: `redis://[user[:password]@]host[:port][/database]`, `rediss://…` for TLS with a verified
        ///   certificate (`?cacert=FILE` names the authorities), `unix:///path/to/socket`,
        ///   `redis+sentinel://[user[:password]@]host[:port][,host[:port]…]/MASTER[/database]`, or for a cluster
        ///   `redis+cluster://[user[:password]@]host[:port][,host[:port]…]`; the last two also with `rediss+`.
        public static func url(_ url: String) -> Server { Server(kind: .url(url)) }

        /// One server on the network.
        ///
        /// - Parameters:
        ///   - host: a name or an address.
        ///   - port: 1 to 65535.
        ///   - database: the number of the database, from 0.
        public static func tcp(host: String, port: Int = 6379, database: Int = 0) -> Server {
            Server(kind: .tcp(host: host, port: port, database: database))
        }

        /// One server on this machine.
        ///
        /// - Parameters:
        ///   - path: the path of the socket.
        ///   - database: the number of the database, from 0.
        public static func unixSocket(path: String, database: Int = 0) -> Server {
            Server(kind: .unixSocket(path: path, database: database))
        }

        /// A private redis-server of this user on a unix socket, for development. `SluiceClient.connect` and
        /// `SluiceClient.run()` start it if it does not run. All programs of the user share it; `sluice redis stop`
        /// stops it.
        public static let embedded = Server(kind: .embedded)
    }

    /// A user of Redis and the password.
    public struct Credentials: Sendable {
        /// The name of the user; nil = the default user.
        public var user: String?
        /// The password.
        public var password: String

        /// Creates credentials.
        ///
        /// - Parameters:
        ///   - user: the name of the user; nil = the default user.
        ///   - password: the password.
        public init(user: String? = nil, password: String) {
            self.user = user
            self.password = password
        }
    }

    /// The time limits of a client. Each is more than zero and at most 100 years.
    public struct Timeouts: Sendable, Hashable {
        /// The longest time that one attempt to connect takes, from the look-up of the name to the login.
        public var connect: Duration
        /// The longest time that a call waits for a connection and its answer. Attempts to connect go on meanwhile.
        public var command: Duration
        /// For how long an enqueue is repeated while its answers are lost.
        public var enqueue: Duration
        /// The longest time that an enqueue waits for the durability that it asks for.
        public var durability: Duration

        /// Creates time limits.
        ///
        /// - Parameters:
        ///   - connect: the longest time that one attempt to connect takes.
        ///   - command: the longest time that a call waits for a connection and its answer.
        ///   - enqueue: for how long an enqueue is repeated while its answers are lost.
        ///   - durability: the longest time that an enqueue waits for the durability that it asks for.
        public init(
            connect: Duration = .seconds(2),
            command: Duration = .seconds(5),
            enqueue: Duration = .seconds(30),
            durability: Duration = .seconds(5)
        ) {
            self.connect = connect
            self.command = command
            self.enqueue = enqueue
            self.durability = durability
        }
    }
}

extension SluiceConfiguration.Server: CustomStringConvertible, CustomReflectable {
    /// The address, with `***` in place of a password.
    public var description: String {
        switch kind {
        case .url(let url): URLPasswords.masked(url)
        case .tcp(let host, let port, let database):
            RedisEndpoint.tcp(host: host, port: port, database: database).description
        case .unixSocket(let path, let database): RedisEndpoint.unix(path: path, database: database).description
        case .embedded: "embedded"
        }
    }

    /// Hides passwords from `dump` and other reflection.
    public var customMirror: Mirror { Mirror(self, children: ["server": description]) }
}

extension SluiceConfiguration.Credentials: CustomStringConvertible, CustomReflectable {
    /// The name of the user, without the password.
    public var description: String { "user \(user ?? "default")" }

    /// Hides the password from `dump` and other reflection.
    public var customMirror: Mirror { Mirror(self, children: ["user": user ?? "default"]) }
}

extension SluiceConfiguration {
    /// The address, user and TLS of the server.
    ///
    /// - Throws: `OperationsError` with `.invalidOption`.
    func endpoint() throws(OperationsError) -> RedisEndpoint {
        var endpoint = try server.endpoint()
        if let credentials { (endpoint.user, endpoint.password) = (credentials.user, credentials.password) }
        guard let tls else { return endpoint }
        guard endpoint.tls?.caCertificateFile == nil else {
            throw OperationsError(.invalidOption, "the URL sets cacert and the configuration sets tls: use only one")
        }
        if case .unix = endpoint.address {
            throw OperationsError(
                .invalidOption,
                "the configuration sets tls, but a unix socket has no TLS: drop tls"
            )
        }
        endpoint.tls = RedisEndpoint.TLS(configuration: tls)
        return endpoint
    }

    /// The settings of a broker.
    ///
    /// - Throws: `OperationsError` with `.invalidOption` for a time limit, with `.invalidName` for the namespace.
    func brokerConfiguration() throws -> RedisBrokerConfiguration {
        try NameRule.check(namespace, role: "namespace")
        try TimeLimit.check(timeouts.connect, "the connect timeout")
        try TimeLimit.check(timeouts.command, "the command timeout")
        try TimeLimit.check(timeouts.enqueue, "the enqueue timeout")
        try TimeLimit.check(timeouts.durability, "the durability timeout")
        return RedisBrokerConfiguration(
            namespace: namespace,
            commandDeadline: timeouts.command,
            enqueuePatience: timeouts.enqueue,
            durabilityPatience: timeouts.durability,
            connectTimeout: timeouts.connect,
            failsFastWhenRefused: true,
            eventLoopGroup: eventLoopGroup
        )
    }
}

extension SluiceConfiguration.Server {
    fileprivate func endpoint() throws(OperationsError) -> RedisEndpoint {
        switch kind {
        case .url(let url):
            do { return try RedisEndpoint(url: url) } catch { throw OperationsError(.invalidOption, error.message) }
        case .tcp(let host, let port, let database):
            guard !host.isEmpty else {
                throw OperationsError(.invalidOption, "the host of the server is empty: use a name or an address")
            }
            guard (1...65_535).contains(port) else {
                throw OperationsError(.invalidOption, "the server has port \(port): use 1 to 65535")
            }
            try check(database)
            return .tcp(host: host, port: port, database: database)
        case .unixSocket(let path, let database):
            guard path.hasPrefix("/") else {
                throw OperationsError(
                    .invalidOption,
                    "the path of the unix socket, \(OperationsError.quoted(path)), is not absolute: use /path/to/socket"
                )
            }
            try check(database)
            return .unix(path: path, database: database)
        case .embedded: return EmbeddedRedis().endpoint
        }
    }

    private func check(_ database: Int) throws(OperationsError) {
        guard database >= 0 else {
            throw OperationsError(.invalidOption, "the server has database \(database): use 0 or more")
        }
    }
}
