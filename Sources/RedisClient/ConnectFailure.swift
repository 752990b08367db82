import NIOCore
import NIOPosix
import NIOSSL

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Explains errors of NIO and NIOSSL in sentences.
enum ConnectFailure {
    enum Moment {
        case connect, use
    }

    /// - Parameter peer: the server of the TLS connection; nil if it is unknown or there is no TLS.
    static func describe(_ error: any Error, during moment: Moment, peer: TLSPeer? = nil) -> RedisError {
        if let error = error as? RedisError { return error }
        if case NIOSSLError.uncleanShutdown = error {
            return RedisError(.closed, "the connection to Redis was cut (without a TLS close message)", cause: error)
        }
        if isTLS(error) {
            let reason = peer?.explain(error) ?? String(describing: error)
            return RedisError(.tls, "TLS with Redis failed: \(reason)", cause: error)
        }
        switch moment {
        case .connect: return RedisError(.unreachable, "cannot connect to Redis: \(reason(error))", cause: error)
        case .use: return RedisError(.closed, "the connection to Redis broke: \(reason(error))", cause: error)
        }
    }

    private static func isTLS(_ error: any Error) -> Bool {
        error is NIOSSLError || error is BoringSSLError || error is NIOSSLExtraError
    }

    private static func reason(_ error: any Error) -> String {
        switch error {
        case let error as NIOConnectionError:
            let causes = error.connectionErrors.map { reason($0.error) }
            if let cause = causes.first { return "\(error.host):\(error.port): \(cause)" }
            return "the host name \(error.host) has no address"
        case let error as IOError: return String(cString: strerror(error.errnoCode))
        case ChannelError.connectTimeout: return "no answer within the connect time-out"
        default: return String(describing: error)
        }
    }
}
