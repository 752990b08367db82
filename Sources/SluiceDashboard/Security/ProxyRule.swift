import NIOCore

/// The proxies that check logins and give the name of the person in a header.
package struct ProxyRule: Sendable {
    package var ranges: [AddressRange]
    /// The name of the header with the person's name.
    package var header: String

    package init(ranges: [AddressRange], header: String) { (self.ranges, self.header) = (ranges, header) }

    /// Whether a request comes from a trusted proxy.
    func trusts(_ address: SocketAddress?) -> Bool {
        address.map { peer in ranges.contains { $0.contains(peer) } } ?? false
    }
}
