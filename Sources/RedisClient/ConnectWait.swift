import Synchronization

/// What a try to connect waits for right now, for a caller that gives up before the try does.
final class ConnectWait: Sendable, CustomStringConvertible {
    private let state = Mutex<(text: String, parts: [ConnectWait])>(("", []))

    /// - Parameters:
    ///   - text: a noun: "the TLS handshake with HOST:PORT".
    ///   - parts: what it consists of, said behind it.
    func now(_ text: String, in parts: [ConnectWait] = []) { state.withLock { $0 = (text, parts) } }

    /// Empty if nothing is waited for.
    var description: String {
        let (text, parts) = state.withLock { $0 }
        let inner = parts.map(\.description).filter { !$0.isEmpty }
        return inner.isEmpty ? text : "\(text): \(inner.joined(separator: ", "))"
    }
}
