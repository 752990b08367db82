import Hummingbird
import Logging
import NIOCore

/// The context of a request.
struct DashboardContext: RequestContext, RemoteAddressRequestContext {
    var coreContext: CoreRequestContextStorage
    let remoteAddress: SocketAddress?
    /// The person who asks; set by the gate before any page is made.
    var visitor: Visitor?

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        remoteAddress = source.channel.remoteAddress
    }

    /// Makes the context of a request to an app of which the dashboard is a part.
    init(logger: Logger, visitor: Visitor?) {
        coreContext = CoreRequestContextStorage(source: LoggerSource(logger: logger))
        (remoteAddress, self.visitor) = (nil, visitor)
    }

    private struct LoggerSource: RequestContextSource { let logger: Logger }

    var maxUploadSize: Int { Limits.body }
}

/// The limits for requests.
enum Limits {
    /// The most bytes of a body.
    static let body = 1 << 20
    /// The most bytes of a form with arguments. Most characters of JSON have three bytes there.
    static let operationForm = 4 << 20
    /// The most bytes of all headers.
    static let headers = 32 << 10
    static let headerCount = 100
    /// A connection without a request, and a request that does not arrive, are closed after this time.
    static let idle = TimeAmount.seconds(30)
    /// The most connections.
    static let connections = 2_000
    /// The most streams of events.
    static let streams = 1_000
    /// The most bodies that are received at once.
    static let bodiesAtOnce = 32
    /// The most requests that read at once, and that wait for their turn.
    static let requestsAtOnce = 16
    static let requestsWaiting = 1_000
}
