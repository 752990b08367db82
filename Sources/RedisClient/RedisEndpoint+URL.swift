extension RedisEndpoint {
    /// Parses the URL of a server, of sentinels or of a cluster.
    ///
    /// - `redis://[user[:password]@]host[:port][/database]`
    /// - `unix://[user[:password]@]/path[?db=N]`
    /// - `redis+sentinel://[user[:password]@]host[:port][,host[:port]…]/MASTER[/database]`; the options
    ///   `?sentinel_user=…&sentinel_password=…` are for the sentinels themselves
    /// - `redis+cluster://[user[:password]@]host[:port][,host[:port]…]`: some nodes of a cluster
    ///
    /// `rediss` in place of `redis` uses TLS, with the certificate authorities in `?cacert=FILE`.
    /// - Throws: ``RedisError`` with the code `badURL`, and without the password in its message.
    package init(url: String) throws(RedisError) {
        guard let separator = url.firstRange(of: "://") else {
            throw Self.bad(
                "has no scheme; expected redis://, rediss://, unix://, redis+sentinel:// or redis+cluster://"
            )
        }
        let rest = url[separator.upperBound...]
        switch url[..<separator.lowerBound].lowercased() {
        case "redis": try self.init(network: rest, tls: nil)
        case "rediss": try self.init(network: rest, tls: TLS())
        case "unix": try self.init(unix: rest)
        case "redis+sentinel": try self.init(sentinels: rest, tls: nil)
        case "rediss+sentinel": try self.init(sentinels: rest, tls: TLS())
        case "redis+cluster": try self.init(cluster: rest, tls: nil)
        case "rediss+cluster": try self.init(cluster: rest, tls: TLS())
        case let scheme:
            throw Self.bad(
                "has the scheme \"\(scheme)\"; expected redis, rediss, unix, redis+sentinel or redis+cluster"
            )
        }
    }

    private init(network text: Substring, tls: TLS?) throws(RedisError) {
        let (location, query) = Self.split(text, at: "?")
        let (authority, path) = Self.split(location, at: "/")
        let (credentials, hostPort) = Self.splitCredentials(authority)
        let (host, port) = try Self.parseHost(hostPort)
        self.init(address: .tcp(host: host, port: port), tls: tls)
        (user, password) = try Self.parseCredentials(credentials)
        if let path, !path.isEmpty { database = try Self.parseDatabase(path) }
        try apply(query)
    }

    private init(unix text: Substring) throws(RedisError) {
        let (location, query) = Self.split(text, at: "?")
        let slash = location.firstIndex(of: "/")
        let (credentials, host) = Self.splitCredentials(slash.map { location[..<$0] } ?? location)
        guard let slash, host.isEmpty else {
            throw Self.bad("names no absolute path; expected unix:///path/to/socket")
        }
        self.init(address: .unix(path: try Self.decode(location[slash...], "path")))
        (user, password) = try Self.parseCredentials(credentials)
        try apply(query)
    }

    private init(sentinels text: Substring, tls: TLS?) throws(RedisError) {
        let (location, query) = Self.split(text, at: "?")
        let (authority, path) = Self.split(location, at: "/")
        let (credentials, list) = Self.splitCredentials(authority)
        let hosts = try Self.parseHosts(list, port: Sentinels.port)
        let (master, database) = Self.split(path ?? "", at: "/")
        guard !master.isEmpty else {
            throw Self.bad("names no master; expected for example redis+sentinel://h1:26379,h2:26379/mymaster/0")
        }
        self.init(
            address: .sentinels(Sentinels(hosts: hosts, master: try Self.decode(master, "master's name"))),
            tls: tls
        )
        (user, password) = try Self.parseCredentials(credentials)
        if let database, !database.isEmpty { self.database = try Self.parseDatabase(database) }
        try apply(query)
    }

    private init(cluster text: Substring, tls: TLS?) throws(RedisError) {
        let (location, query) = Self.split(text, at: "?")
        let (authority, path) = Self.split(location, at: "/")
        let (credentials, list) = Self.splitCredentials(authority)
        self.init(address: .cluster(try Self.parseHosts(list, port: 6379)), tls: tls)
        (user, password) = try Self.parseCredentials(credentials)
        if let path, !path.isEmpty { database = try Self.parseDatabase(path) }
        try apply(query)
        guard database == 0 else {
            throw Self.bad("names the database \(database), but a cluster has only database 0; use --namespace instead")
        }
    }

    private mutating func apply(_ query: Substring?) throws(RedisError) {
        guard let query, !query.isEmpty else { return }
        for option in query.split(separator: "&") {
            let (name, value) = Self.split(option, at: "=")
            switch name {
            case "db": database = try Self.parseDatabase(value ?? "")
            case "cacert" where tls != nil: tls?.caCertificateFile = try Self.decode(value ?? "", "cacert")
            case "sentinel_user", "sentinel_password":
                guard case .sentinels(var sentinels) = address else {
                    throw Self.bad("has an option for sentinels; use redis+sentinel://")
                }
                let text = try Self.decode(value ?? "", String(name))
                if name == "sentinel_user" { sentinels.user = text } else { sentinels.password = text }
                address = .sentinels(sentinels)
            case "cacert": throw Self.bad("has cacert without TLS; use rediss://")
            default: throw Self.bad("has an unknown option; known are db and, with rediss://, cacert")
            }
        }
    }

    private static func parseHosts(_ list: Substring, port: Int) throws(RedisError) -> [Host] {
        var hosts: [Host] = []
        for text in list.split(separator: ",", omittingEmptySubsequences: false) {
            let (name, port) = try parseHost(text, port: port)
            hosts.append(Host(name, port: port))
        }
        return hosts
    }

    private static func parseHost(_ text: Substring, port standard: Int = 6379) throws(RedisError) -> (String, Int) {
        var host = text
        var port: Substring?
        if text.hasPrefix("[") {
            guard let bracket = text.firstIndex(of: "]") else { throw bad("has an IPv6 address without \"]\"") }
            host = text[text.index(after: text.startIndex)..<bracket]
            let rest = text[text.index(after: bracket)...]
            guard rest.isEmpty || rest.hasPrefix(":") else { throw bad("has text between \"]\" and the port") }
            port = rest.isEmpty ? nil : rest.dropFirst()
        } else {
            (host, port) = split(text, at: ":")
        }
        guard !host.isEmpty else { throw bad("names no host; expected for example redis://localhost:6379/0") }
        guard let port else { return (String(host), standard) }
        guard let number = Int(port), (1...65_535).contains(number) else {
            // The text is not shown: after an unencoded / it may be a part of the password.
            throw bad("has a port that is not 1 to 65535 (a password with / ? # @ or : must be percent-encoded)")
        }
        return (try decode(host, "host"), number)
    }

    private static func parseCredentials(_ text: Substring?) throws(RedisError) -> (String?, String?) {
        guard let text else { return (nil, nil) }
        let (user, password) = split(text, at: ":")
        let name = user.isEmpty ? nil : try decode(user, "user")
        guard let password else { return (name, nil) }
        return (name, try decode(password, "password"))
    }

    private static func parseDatabase(_ text: Substring) throws(RedisError) -> Int {
        guard let number = Int(text), number >= 0 else {
            throw bad("has a database that is not a number from 0")
        }
        return number
    }

    /// A URL with the same user and another password.
    package static func url(_ url: String, withPassword password: String) -> String {
        guard let separator = url.firstRange(of: "://") else { return url }
        let authority = url[separator.upperBound...].prefix { $0 != "/" && $0 != "?" }
        let (credentials, hosts) = splitCredentials(authority)
        let user = credentials.map { split($0, at: ":").0 } ?? ""
        return "\(url[..<separator.upperBound])\(user):\(encode(password))@\(hosts)\(url[authority.endIndex...])"
    }

    private static func encode(_ text: String) -> String {
        text.utf8.map { byte in
            let hex = String(byte, radix: 16, uppercase: true)
            return (48...57).contains(byte) || (65...90).contains(byte & 0xdf)
                ? String(UnicodeScalar(byte)) : hex.count == 1 ? "%0\(hex)" : "%\(hex)"
        }.joined()
    }

    private static func splitCredentials(_ authority: Substring) -> (Substring?, Substring) {
        guard let at = authority.lastIndex(of: "@") else { return (nil, authority) }
        return (authority[..<at], authority[authority.index(after: at)...])
    }

    private static func split(_ text: Substring, at character: Character) -> (Substring, Substring?) {
        guard let index = text.firstIndex(of: character) else { return (text, nil) }
        return (text[..<index], text[text.index(after: index)...])
    }

    /// Decodes percent-encoding.
    private static func decode(_ text: Substring, _ what: String) throws(RedisError) -> String {
        guard text.utf8.contains(UInt8(ascii: "%")) else { return String(text) }
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            let digits = rest.prefix(2)
            rest = rest.dropFirst(2)
            guard digits.count == 2, let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16) else {
                throw bad("has a broken percent-encoding in its \(what)")
            }
            bytes.append(value)
        }
        guard let decoded = String(validating: bytes, as: UTF8.self) else {
            throw bad("has a \(what) that is not UTF-8")
        }
        return decoded
    }

    private static func bad(_ problem: String) -> RedisError {
        RedisError(.badURL, "the Redis URL \(problem)")
    }
}
