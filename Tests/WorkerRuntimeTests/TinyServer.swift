import Foundation
import Glibc
import Synchronization
import TestSupport

/// A minimal HTTP server: one thread per connection, one request each. The closure maps a path to its answer.
final class TinyServer: Sendable {
    /// A part of an answer: bytes, or a pause until the test opens the latch.
    enum Piece: Sendable {
        case bytes([UInt8])
        case gate(Latch)
    }

    private let descriptor: Int32
    private let answers: @Sendable (String) -> [Piece]
    private let log = Mutex<[String]>([])
    private let texts = Mutex<[String]>([])
    private let cut = Mutex(0)
    let port: Int

    /// The requested paths, in order
    var requests: [String] { log.withLock { $0 } }
    /// The whole requests, heads and bodies, in order
    var requestTexts: [String] { texts.withLock { $0 } }
    /// The number of connections that the client closed before it had the whole answer
    var cutCount: Int { cut.withLock { $0 } }

    init(answers: @escaping @Sendable (String) -> [Piece]) throws {
        self.answers = answers
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let bound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                bind(descriptor, generic, length) == 0 && listen(descriptor, 64) == 0
                    && getsockname(descriptor, generic, &length) == 0
            }
        }
        guard bound else { throw POSIXError(.EADDRINUSE) }
        port = Int(UInt16(bigEndian: address.sin_port))
        Thread { [weak self] in
            while case let connection = accept(descriptor, nil, nil), connection >= 0 {
                let server = self
                Thread { server?.serve(connection) }.start()
            }
        }
        .start()
    }

    deinit {
        shutdown(descriptor, Int32(SHUT_RDWR))
        close(descriptor)
    }

    func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }

    private func serve(_ connection: Int32) {
        defer { close(connection) }
        var request: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while !Self.isComplete(request) {
            let count = read(connection, &chunk, chunk.count)
            if count <= 0 { return }
            request += chunk[..<count]
        }
        let path = String(decoding: request, as: UTF8.self).split(separator: " ")[1]
        log.withLock { $0.append(String(path)) }
        texts.withLock { $0.append(String(decoding: request, as: UTF8.self)) }
        for piece in answers(String(path)) {
            switch piece {
            case .bytes(let bytes):
                guard send(bytes, connection) else { return cut.withLock { $0 += 1 } }
            case .gate(let gate):
                gate.block()
            }
        }
    }

    /// Returns whether the head has ended and the body has the length that the head states.
    private static func isComplete(_ request: [UInt8]) -> Bool {
        let text = String(decoding: request, as: UTF8.self)
        guard let end = text.range(of: "\r\n\r\n") else { return false }
        let length = text[..<end.lowerBound].lowercased().firstMatch(of: /\r\ncontent-length: (\d+)/)?.1
        return text[end.upperBound...].utf8.count >= length.flatMap { Int($0) } ?? 0
    }

    private func send(_ bytes: [UInt8], _ connection: Int32) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.send(connection, $0.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
            }
            if count <= 0 { return false }
            sent += count
        }
        return true
    }
}

extension TinyServer.Piece {
    static func head(_ status: String, _ headers: String...) -> TinyServer.Piece {
        let lines = ["HTTP/1.1 \(status)"] + headers + ["Connection: close", "", ""]
        return .bytes(Array(lines.joined(separator: "\r\n").utf8))
    }
}
