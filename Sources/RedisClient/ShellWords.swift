/// Commands that a person can paste into a shell.
package enum ShellWords {
    /// A word as a POSIX shell reads it back unchanged.
    package static func quoted(_ word: String) -> String {
        let isPlain =
            !word.isEmpty
            && word.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"'\"\\$`!*?[](){}<>|&;#~".utf8.contains($0) }
        return isPlain ? word : "'" + word.replacing("'", with: "'\\''") + "'"
    }
}

extension RedisEndpoint {
    /// Where the address leads first: the server, the first sentinel, the first node; nil for a socket, and where there is none.
    package var firstHost: Host? {
        switch address {
        case .tcp(let host, let port): Host(host, port: port)
        case .unix: nil
        case .sentinels(let sentinels): sentinels.hosts.first
        case .cluster(let hosts): hosts.first
        }
    }

    /// The beginning of a `redis-cli` command to the first host, without user and database.
    package var redisCLI: String {
        var words = ["redis-cli"]
        if case .unix(let path) = address { words += ["-s", path] }
        if isCluster { words.append("-c") }
        if let host = firstHost { words += ["-h", host.name, "-p", "\(host.port)"] }
        if let tls {
            words.append("--tls")
            if let file = tls.caCertificateFile { words += ["--cacert", file] }
        }
        return words.map(ShellWords.quoted).joined(separator: " ")
    }
}
