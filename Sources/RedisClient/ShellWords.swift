/// Text for commands that can be pasted into a shell.
package enum ShellWords {
    /// Quotes a word for a POSIX shell.
    package static func quoted(_ word: String) -> String {
        let isPlain =
            !word.isEmpty
            && word.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"'\"\\$`!*?[](){}<>|&;#~".utf8.contains($0) }
        return isPlain ? word : "'" + word.replacing("'", with: "'\\''") + "'"
    }
}

extension RedisEndpoint {
    /// The server, the first sentinel or the first node; nil for a socket or an empty list.
    package var firstHost: Host? {
        switch address {
        case .tcp(let host, let port): Host(host, port: port)
        case .unix: nil
        case .sentinels(let sentinels): sentinels.hosts.first
        case .cluster(let hosts): hosts.first
        }
    }

    /// The start of a `redis-cli` command for the first host, without user and database.
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
