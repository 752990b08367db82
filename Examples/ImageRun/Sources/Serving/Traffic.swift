import Foundation
import Synchronization

/// The state of the server: requests being answered, earlier requests, and the log.
final class Traffic: Sendable {
    /// A request that is being answered.
    struct Exchange: Hashable, Sendable {
        let number: Int
        let startedAt: Date
        let method: String
        let path: String
        /// The number of requests in flight when this one started, including this one.
        let inFlight: Int
        /// The number of earlier requests for this path.
        let earlierRequests: Int
        var status = 0
        var bytes = 0
    }

    /// The way in which an answer ended.
    enum Outcome: String, Codable, Hashable {
        /// The whole answer was sent.
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
        /// The bytes of the body that were sent.
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

    /// - Parameter log: the file to append the log to, created if missing.
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

    /// Notes a new request. Only GET requests count as earlier requests.
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

    /// Notes that the last piece is about to be sent, so that the request is no longer in flight.
    ///
    /// With this piece, the client may send its next request, and both must not count as in flight.
    func leave(_ exchange: Exchange) {
        _ = state.withLock { $0.inFlight.remove(exchange.number) }
    }

    /// Notes the bytes sent so far, for the log line if the server is stopped now.
    func update(_ exchange: Exchange) {
        state.withLock { state in
            if state.unlogged[exchange.number] != nil { state.unlogged[exchange.number] = exchange }
        }
    }

    /// Notes the end of the answer, and writes its line once.
    func end(_ exchange: Exchange, _ outcome: Outcome) {
        state.withLock { state in
            state.inFlight.remove(exchange.number)
            guard state.unlogged.removeValue(forKey: exchange.number) != nil else { return }
            Self.write(exchange, outcome, to: state.log)
        }
    }

    /// Writes a line for each unfinished answer when the server stops.
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
