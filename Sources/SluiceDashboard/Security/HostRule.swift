/// Accepts a request only if its `Host` header names this dashboard.
///
/// A page of another site can make its own name resolve to a loopback address (DNS rebinding). The browser then sends
/// that name as `Host`.
struct HostRule: Sendable {
    private let names: Set<String>

    /// - Parameters:
    ///   - bind: the address to which the server is bound.
    ///   - others: further names, such as the name that a proxy uses.
    init(bind: String, others: [String] = []) {
        let isAny = ["0.0.0.0", "::"].contains(bind)
        names = Set((["localhost", "127.0.0.1", "::1"] + (isAny ? [] : [bind]) + others).map { $0.lowercased() })
    }

    /// Whether the host is this dashboard. The port does not count, since a tunnel may change it.
    func allows(_ host: String?) -> Bool { host.flatMap(Self.name).map(names.contains) ?? false }

    /// The name in `name`, `name:port`, `[address]` or `[address]:port`; nil if the text has another form.
    static func name(of host: String) -> String? {
        let text = host.lowercased()
        let (name, rest): (Substring, Substring)
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]") else { return nil }
            (name, rest) = (text[text.index(after: text.startIndex)..<end], text[text.index(after: end)...])
        } else {
            let colon = text.firstIndex(of: ":") ?? text.endIndex
            (name, rest) = (text[..<colon], text[colon...])
        }
        let isPort = rest.isEmpty || rest.first == ":" && rest.dropFirst().allSatisfy { $0.isASCII && $0.isNumber }
        return !name.isEmpty && isPort ? String(name) : nil
    }
}
