import NIOCore

/// A range of addresses in CIDR notation: `10.0.0.0/8`, `::1/128`, or one address.
package struct AddressRange: Sendable, Equatable {
    private let bytes: [UInt8]
    private let bits: Int

    package init?(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = try? SocketAddress(ipAddress: String(parts[0]), port: 0) else { return nil }
        bytes = Self.bytes(of: address)
        guard parts.count == 2 else {
            bits = bytes.count * 8
            return
        }
        guard let bits = Int(parts[1]), (0...bytes.count * 8).contains(bits), !parts[1].hasPrefix("+") else {
            return nil
        }
        self.bits = bits
    }

    func contains(_ address: SocketAddress) -> Bool {
        let other = Self.bytes(of: address)
        guard other.count == bytes.count else { return false }
        return (0..<bits).allSatisfy { bit in
            let mask = UInt8(0x80) >> UInt8(bit % 8)
            return bytes[bit / 8] & mask == other[bit / 8] & mask
        }
    }

    private static func bytes(of address: SocketAddress) -> [UInt8] {
        switch address {
        case .v4(let address): withUnsafeBytes(of: address.address.sin_addr) { Array($0) }
        case .v6(let address):
            // A socket for both kinds of addresses gives IPv4 addresses in this form.
            withUnsafeBytes(of: address.address.sin6_addr) { Array($0) }.withoutMapping
        case .unixDomainSocket: []
        }
    }
}

extension [UInt8] {
    /// The IPv4 address in an IPv6 address of the form `::ffff:1.2.3.4`; otherwise the bytes themselves.
    fileprivate var withoutMapping: [UInt8] {
        let prefix = [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF]
        return starts(with: prefix) ? Array(suffix(4)) : self
    }
}
