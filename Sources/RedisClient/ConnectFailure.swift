import NIOCore
import NIOPosix
import NIOSSL

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Turns what NIO and NIOSSL throw into sentences.
enum ConnectFailure {
    enum Moment {
        case connect, use
    }

    static func describe(_ error: any Error, during moment: Moment) -> RedisError {
        if let error = error as? RedisError { return error }
        if case NIOSSLError.uncleanShutdown = error {
            return RedisError(.closed, "the connection to Redis was cut (without TLS' goodbye)", cause: error)
        }
        if isTLS(error) {
            return RedisError(.tls, "TLS with Redis failed: \(tlsReason(error))", cause: error)
        }
        switch moment {
        case .connect: return RedisError(.unreachable, "cannot connect to Redis: \(reason(error))", cause: error)
        case .use: return RedisError(.closed, "the connection to Redis broke: \(reason(error))", cause: error)
        }
    }

    private static func isTLS(_ error: any Error) -> Bool {
        error is NIOSSLError || error is BoringSSLError || error is NIOSSLExtraError
    }

    private static func tlsReason(_ error: any Error) -> String {
        let text = String(describing: error)
        if text.contains("CERTIFICATE_VERIFY_FAILED") { return "the server's certificate is not trusted (\(text))" }
        if text.contains("WRONG_VERSION_NUMBER") { return "the server does not speak TLS on this port" }
        return text
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
