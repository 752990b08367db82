import AsyncHTTPClient
import Foundation
import Operations

/// The HTTP connections of all operations of this process.
enum HTTPConnections {
    /// The client, which lives as long as the process.
    static let shared: HTTPClient = {
        var configuration = HTTPClient.Configuration(
            redirectConfiguration: .follow(max: 10, allowCycles: false),
            timeout: .init(connect: .seconds(10), read: .seconds(30)),
            decompression: .disabled
        )
        // The worker's slots limit the connections, and its retries replace those of the client.
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 10_000
        configuration.connectionPool.retryConnectionEstablishment = false
        return HTTPClient(eventLoopGroup: HTTPClient.defaultEventLoopGroup, configuration: configuration)
    }()
}
