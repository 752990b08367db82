import Foundation
import RedisClient

extension EmbeddedRedis {
    enum Answer {
        case notListening
        case alive(pid: Int32, version: String, isLoading: Bool)
    }

    /// Asks the server on the socket for its pid. A server that listens elsewhere is not the embedded one.
    func ask() throws(EmbeddedRedisError) -> Answer {
        var patience = Patience(self.patience)
        while true {
            guard access(place.socketPath, F_OK) == 0 else { return .notListening }
            do {
                return try askOnce()
            } catch {
                if isRefused() { return .notListening }
                // The server may be ending. In this case, the next try is refused.
                if patience.wait() { continue }
                throw EmbeddedRedisError(
                    .notAnswering,
                    "a server listens on \(place.socketPath), but does not answer like Redis: \(error)",
                    cause: error
                )
            }
        }
    }

    private func askOnce() throws -> Answer {
        let commands = [RedisCommand("INFO", "server"), RedisCommand("PING")]
        let replies = try RedisProbe.ask(endpoint, commands, timeout: self.patience)
        let info = try replies[0].expectString("INFO server")
        guard let pid = Self.field("process_id", of: info).flatMap(Int32.init) else {
            throw RedisError(.unexpectedReply, "INFO has no process_id")
        }
        let version = Self.field("redis_version", of: info) ?? "unknown"
        return .alive(pid: pid, version: version, isLoading: replies[1].error?.code == .loading)
    }

    /// Whether no server listens on the socket. Then connecting fails at once, without a timeout.
    private func isRefused() -> Bool {
        let descriptor = socket(AF_UNIX, Self.stream, 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: place.socketPath.utf8) }
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        return status != 0 && (errno == ECONNREFUSED || errno == ENOENT)
    }

    #if os(Linux)
        private static let stream = CInt(SOCK_STREAM.rawValue)
    #else
        private static let stream = SOCK_STREAM
    #endif

    private static func field(_ name: String, of info: String) -> String? {
        info.split(whereSeparator: \.isNewline).first { $0.hasPrefix(name + ":") }.map {
            String($0.dropFirst(name.count + 1))
        }
    }
}
