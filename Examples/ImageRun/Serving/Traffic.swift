import Foundation
import Synchronization

/// The server's memory: what is being answered now, what was asked before, and the log of it.
final class Traffic: Sendable {
    /// A request that is being answered.
    struct Exchange: Hashable, Sendable {
        let number: Int
        let startedAt: Date
        let method: String
        let path: String
        /// Requests in flight when this one started, itself included.
        let inFlight: Int
        /// How many requests for the same path came before.
        let earlierRequests: Int
        var status = 0
        var bytes = 0
    }

    /// How an answer ended.
    enum Outcome: String, Codable, Hashable {
        /// It was sent.
        case complete
        /// The server closed the connection before the end, on purpose or because it was stopped.
        case cut
        /// The client closed the connection before the end.
        case clientClosed = "client-closed"
    }

    /// A line of the request log.
    struct Entry: Codable, Hashable {
        let time: String
        let method: String
        let path: String
        let status: Int
        /// Bytes of the body that were sent.
        let bytes: Int
        let inFlight: Int
        let milliseconds: Int
        let outcome: Outcome
    }

    private struct State {
        var log: FileHandle
        var nextNumber = 1
        var inFlight = Set<Int>()
        var unlogged: [Int: Exchange] = [:]
        var requestsByPath: [String: Int] = [:]
    }

    private let state: Mutex<State>

    /// - Parameter log: The file that the log is appended to; created when missing.
    init(log: URL) throws {
        if !FileManager.default.fileExists(atPath: log.path) {
            _ = FileManager.default.createFile(atPath: log.path, contents: nil)
        }
        guard let handle = FileHandle(forWritingAtPath: log.path) else {
            throw ImageRunError(.file, "cannot write \(log.path)")
        }
        try handle.seekToEnd()
        state = Mutex(State(log: handle))
    }

    /// A request arrived. Only GET counts as one that came before others.
    func begin(method: String, path: String, at time: Date = Date()) -> Exchange {
        state.withLock { state in
            let number = state.nextNumber
            state.nextNumber += 1
            state.inFlight.insert(number)
            let earlier = state.requestsByPath[path] ?? 0
            if method == "GET" { state.requestsByPath[path] = earlier + 1 }
            let exchange = Exchange(
                number: number,
                startedAt: time,
                method: method,
                path: path,
                inFlight: state.inFlight.count,
                earlierRequests: earlier
            )
            state.unlogged[number] = exchange
            return exchange
        }
    }

    /// The last piece is about to be sent. From here on the request is not in flight: as soon as the client has the
    /// piece it may ask for something else, and must not be blamed for both.
    func leave(_ exchange: Exchange) {
        _ = state.withLock { $0.inFlight.remove(exchange.number) }
    }

    /// More was sent; what is known if the server is stopped now.
    func update(_ exchange: Exchange) {
        state.withLock { state in
            if state.unlogged[exchange.number] != nil { state.unlogged[exchange.number] = exchange }
        }
    }

    /// The answer ended: writes its line, once.
    func end(_ exchange: Exchange, _ outcome: Outcome) {
        state.withLock { state in
            state.inFlight.remove(exchange.number)
            guard state.unlogged.removeValue(forKey: exchange.number) != nil else { return }
            Self.write(exchange, outcome, to: state.log)
        }
    }

    /// The server stops: writes a line for everything that is still being answered.
    func close() {
        state.withLock { state in
            for exchange in state.unlogged.values.sorted(by: { $0.number < $1.number }) {
                Self.write(exchange, .cut, to: state.log)
            }
            state.unlogged.removeAll()
            try? state.log.synchronize()
        }
    }

    private static func write(_ exchange: Exchange, _ outcome: Outcome, to log: FileHandle) {
        let entry = Entry(
            time: exchange.startedAt.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)),
            method: exchange.method,
            path: exchange.path,
            status: exchange.status,
            bytes: exchange.bytes,
            inFlight: exchange.inFlight,
            milliseconds: Int(Date().timeIntervalSince(exchange.startedAt) * 1_000),
            outcome: outcome
        )
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let line = try? encoder.encode(entry) else { return }
        try? log.write(contentsOf: line + Data("\n".utf8))
    }
}
