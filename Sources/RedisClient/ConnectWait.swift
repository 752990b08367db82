import Synchronization

/// The step that a try to connect waits for. A caller that gives up earlier reports it.
final class ConnectWait: Sendable, CustomStringConvertible {
    private let state = Mutex<(text: String, parts: [ConnectWait])>(("", []))

    /// - Parameters:
    ///   - text: a noun: "the TLS handshake with HOST:PORT".
    ///   - parts: the waits inside this one, which are added to the text.
    func now(_ text: String, in parts: [ConnectWait] = []) { state.withLock { $0 = (text, parts) } }

    /// Empty if there is nothing to wait for.
    var description: String {
        let (text, parts) = state.withLock { $0 }
        let inner = parts.map(\.description).filter { !$0.isEmpty }
        return inner.isEmpty ? text : "\(text): \(inner.joined(separator: ", "))"
    }
}
