import NIOSSL

/// The address of a Redis server and the user to log in as. `description` never shows the password.
package struct RedisEndpoint: Sendable, Equatable, CustomStringConvertible {
    package enum Address: Sendable, Equatable {
        case tcp(host: String, port: Int)
        case unix(path: String)
        /// The master that these sentinels name. Each connection first asks the sentinels.
        case sentinels(Sentinels)
        /// A Redis Cluster: these nodes and the nodes that they name. Each node has a part of the keys.
        case cluster([Host])
    }

    /// A name or an address, and a port.
    package struct Host: Sendable, Hashable, CustomStringConvertible {
        package var name: String
        package var port: Int

        package init(_ name: String, port: Int) {
            self.name = name
            self.port = port
        }

        /// As in a URL.
        package var description: String { name.contains(":") ? "[\(name)]:\(port)" : "\(name):\(port)" }
    }

    /// Redis Sentinels and the name under which they watch a master.
    package struct Sentinels: Sendable, Equatable {
        package static let port = 26_379
        package var hosts: [Host]
        package var master: String
        /// The user for the sentinels themselves; the endpoint's user is for the master.
        package var user: String?
        package var password: String?

        package init(hosts: [Host], master: String, user: String? = nil, password: String? = nil) {
            self.hosts = hosts
            self.master = master
            self.user = user
            self.password = password
        }
    }

    /// TLS with verified certificate and host name. Only a program's own configuration can turn the verification off.
    package struct TLS: Sendable, Equatable {
        /// A PEM file of certificate authorities to trust instead of the system's.
        package var caCertificateFile: String?
        /// The configuration of the program; nil = the default one.
        package var configuration: TLSConfiguration?

        package init(caCertificateFile: String? = nil, configuration: TLSConfiguration? = nil) {
            self.caCertificateFile = caCertificateFile
            self.configuration = configuration
        }

        package static func == (one: TLS, other: TLS) -> Bool {
            guard one.caCertificateFile == other.caCertificateFile else { return false }
            switch (one.configuration, other.configuration) {
            case (nil, nil): return true
            case (let one?, let other?): return one.bestEffortEquals(other)
            default: return false
            }
        }
    }

    package var address: Address
    package var user: String?
    package var password: String?
    package var database: Int
    package var tls: TLS?

    package init(
        address: Address,
        user: String? = nil,
        password: String? = nil,
        database: Int = 0,
        tls: TLS? = nil
    ) {
        self.address = address
        self.user = user
        self.password = password
        self.database = database
        self.tls = tls
    }

    package static func unix(path: String, database: Int = 0) -> RedisEndpoint {
        RedisEndpoint(address: .unix(path: path), database: database)
    }

    package static func tcp(host: String, port: Int = 6379, database: Int = 0) -> RedisEndpoint {
        RedisEndpoint(address: .tcp(host: host, port: port), database: database)
    }

    /// The URL with `***` in place of the password.
    package var description: String {
        let credentials =
            switch (user, password) {
            case (nil, nil): ""
            case (let user?, nil): "\(user)@"
            case (let user, _?): "\(user ?? ""):***@"
            }
        switch address {
        case .tcp(let host, let port):
            return "\(tls == nil ? "redis" : "rediss")://\(credentials)\(Host(host, port: port))/\(database)"
        case .cluster(let hosts):
            let list = hosts.map(\.description).joined(separator: ",")
            return "\(tls == nil ? "redis+cluster" : "rediss+cluster")://\(credentials)\(list)/"
        case .sentinels(let sentinels):
            let hosts = sentinels.hosts.map(\.description).joined(separator: ",")
            let scheme = tls == nil ? "redis+sentinel" : "rediss+sentinel"
            return "\(scheme)://\(credentials)\(hosts)/\(sentinels.master)/\(database)"
        case .unix(let path):
            return "unix://\(credentials)\(path)" + (database == 0 ? "" : "?db=\(database)")
        }
    }

    /// The address without user and database, for messages.
    var place: String {
        switch address {
        case .tcp(let host, let port): Host(host, port: port).description
        case .unix(let path): path
        case .sentinels(let sentinels): sentinels.hosts.map(\.description).joined(separator: ", ")
        case .cluster(let hosts): hosts.map(\.description).joined(separator: ", ")
        }
    }

    /// Whether keys are spread over several servers.
    package var isCluster: Bool {
        if case .cluster = address { true } else { false }
    }

    /// The endpoint of one server, with the same user, password and TLS.
    func at(_ host: Host) -> RedisEndpoint {
        var endpoint = self
        endpoint.address = .tcp(host: host.name, port: host.port)
        return endpoint
    }
}
