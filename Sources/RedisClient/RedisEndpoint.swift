/// Where a Redis server is and who we are there. Printing it never shows the password.
package struct RedisEndpoint: Sendable, Equatable, CustomStringConvertible {
    package enum Address: Sendable, Equatable {
        case tcp(host: String, port: Int)
        case unix(path: String)
    }

    /// TLS with verified certificate and host name; there is no way to switch the verification off.
    package struct TLS: Sendable, Equatable {
        /// A PEM file of certificate authorities to trust instead of the system's.
        package var caCertificateFile: String?

        package init(caCertificateFile: String? = nil) {
            self.caCertificateFile = caCertificateFile
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
            let name = host.contains(":") ? "[\(host)]" : host
            return "\(tls == nil ? "redis" : "rediss")://\(credentials)\(name):\(port)/\(database)"
        case .unix(let path):
            return "unix://\(credentials)\(path)" + (database == 0 ? "" : "?db=\(database)")
        }
    }
}
