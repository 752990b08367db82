import NIOSSL

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The known facts about a server, to explain an error of TLS.
struct TLSPeer {
    /// The host name in the URL, which the certificate must match.
    var name: String
    /// The trusted authorities, as a noun.
    var authorities: String
    /// The server's certificate, if it has sent one.
    var certificate: NIOSSLCertificate?

    /// Seconds since 1970.
    private static var now: Int { time(nil) }

    func explain(_ error: any Error) -> String {
        let text = String(describing: error)
        if text.contains("failedToValidateHostname") || text.contains("serverHostnameImpossibleToMatch") {
            let names = names
            return "the server's certificate is for \(names.isEmpty ? "no host" : names), not for \(name)"
        }
        if text.contains("CERTIFICATE_VERIFY_FAILED") { return distrust }
        if text.contains("WRONG_VERSION_NUMBER") {
            return "the server does not speak TLS on this port (its URL begins with redis://, not rediss://)"
        }
        if text.contains("CERTIFICATE_REQUIRED") || text.contains("NO_CERTIFICATE") {
            return "the server requires a client certificate, and none is configured (in Swift, set "
                + "SluiceConfiguration.tls; for other clients, set tls-auth-clients no in Redis)"
        }
        if text.contains("PROTOCOL_VERSION") || text.contains("UNSUPPORTED_PROTOCOL") {
            return "the server does not support TLS 1.2 or newer"
        }
        return text
    }

    private var distrust: String {
        if let certificate {
            if certificate.notValidAfter < Self.now {
                return
                    "the server's certificate has expired: it was valid until \(Self.text(certificate.notValidAfter))"
                    + ", and the clock of this machine says \(Self.text(Self.now))"
            }
            if certificate.notValidBefore > Self.now {
                return "the server's certificate is not valid yet: it is valid from "
                    + "\(Self.text(certificate.notValidBefore)), and the clock of this machine says "
                    + Self.text(Self.now)
            }
        }
        return "the server's certificate is not trusted: it is not signed by \(authorities)"
    }

    /// The names and addresses of the certificate, the first few.
    private var names: String {
        guard let certificate else { return "" }
        let names = certificate._subjectAlternativeNames().compactMap { name in
            name.contents.withUnsafeBufferPointer { bytes -> String? in
                switch name.nameType {
                case .dnsName: String(decoding: bytes.prefix(100), as: UTF8.self)
                case .ipAddress where bytes.count == 4: bytes.map(String.init).joined(separator: ".")
                case .ipAddress where bytes.count == 16: Self.address(bytes)
                default: nil
                }
            }
        }
        return names.prefix(5).joined(separator: ", ") + (names.count > 5 ? ", …" : "")
    }

    private static func address(_ bytes: UnsafeBufferPointer<UInt8>) -> String? {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        guard inet_ntop(AF_INET6, bytes.baseAddress, &text, socklen_t(text.count)) != nil else { return nil }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// A time in UTC.
    private static func text(_ seconds: Int) -> String {
        var seconds = seconds
        var parts = tm()
        gmtime_r(&seconds, &parts)
        func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let day = "\(parts.tm_year + 1900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday))"
        return "\(day) \(two(parts.tm_hour)):\(two(parts.tm_min)) UTC"
    }
}
