import Foundation

/// A minimal HTTP client on a socket that sees exactly what the server sends, even half an answer.
public struct HTTPProbe {
    public struct Answer: Hashable {
        public let status: Int
        public let fields: [String: String]
        public let body: Data
    }

    public struct Failure: Error {
        public let what: String
    }

    private let socket: Int32

    /// Connects and sends a request that asks for the connection to be closed afterwards.
    ///
    /// - Parameter headers: more headers; `Host` replaces the usual one.
    public init(
        port: Int,
        _ path: String,
        method: String = "GET",
        headers: [String: String] = [:],
        body: String = ""
    ) throws {
        // Programs of other tests must not inherit the socket, or closing it would not end the connection.
        socket = Foundation.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr = in_addr(s_addr: inet_addr("127.0.0.1"))
        let connected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { [socket] in
                connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard connected == 0 else { throw Failure(what: "cannot connect") }
        let lines = ["Host": "127.0.0.1", "Connection": "close"].merging(headers) { $1 }.map { "\($0): \($1)\r\n" }
        let length = body.isEmpty ? "" : "Content-Length: \(body.utf8.count)\r\n"
        let request = Array("\(method) \(path) HTTP/1.1\r\n\(lines.joined())\(length)\r\n\(body)".utf8)
        guard send(socket, request, request.count, 0) == request.count else { throw Failure(what: "cannot send") }
    }

    /// Waits for the first bytes.
    /// - Returns: the number of received bytes.
    public func readSome() -> Int {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        return recv(socket, &buffer, buffer.count, 0)
    }

    public func disconnect() { close(socket) }

    /// Reads until the server closes the connection.
    public func answer() throws -> Answer {
        defer { close(socket) }
        var received = Data()
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(socket, &buffer, buffer.count, 0)
            guard count > 0 else { break }
            received.append(contentsOf: buffer.prefix(count))
        }
        guard let end = received.range(of: Data("\r\n\r\n".utf8)) else { throw Failure(what: "no head") }
        let lines = String(decoding: received[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
        let fields = lines.dropFirst().map { $0.split(separator: ":", maxSplits: 1).map(String.init) }
        let status = Int(lines[0].split(separator: " ")[1]) ?? 0
        let pairs = fields.map { ($0[0].lowercased(), $0[1].trimmingCharacters(in: .whitespaces)) }
        return Answer(status: status, fields: Dictionary(pairs) { $1 }, body: received[end.upperBound...])
    }

    public static func get(
        port: Int,
        _ path: String,
        method: String = "GET",
        headers: [String: String] = [:],
        body: String = ""
    ) throws -> Answer {
        try HTTPProbe(port: port, path, method: method, headers: headers, body: body).answer()
    }

    /// Gets a page of a dashboard. A page that had no data yet, because the machine is slow, is asked for again.
    public static func page(_ get: () throws -> Answer) throws -> Answer {
        var answer = try get()
        _ = try comesTrueBlocking(within: patience) {
            guard answer.status == 503 else { return true }
            answer = try get()
            return answer.status != 503
        }
        return answer
    }
}
