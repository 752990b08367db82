import AsyncHTTPClient
import ExampleBasics
import Foundation
import Operations

/// The download of one icon into a file: in this process, or on any worker that shares the folder.
///
/// The file is complete or does not exist. An existing file means that the operation ran before, and that its worker
/// was lost before Redis knew. In this case nothing is downloaded again.
package struct IconDownload: DistributedOperation {
    package static let name = "icon.download"
    package static let retryPolicy = RetryPolicy(attempts: 3, base: .milliseconds(50))
    package static let runTimeout: Duration? = .seconds(30)

    package let url: String
    /// The path of the file.
    package let file: String

    /// One client for the process, because a client keeps connections.
    private static let client: HTTPClient = {
        var configuration = HTTPClient.Configuration()
        // An unreachable server fails the attempt at once. The operation itself retries.
        configuration.connectionPool.retryConnectionEstablishment = false
        return HTTPClient(configuration: configuration)
    }()

    package init(url: String, file: String) { (self.url, self.file) = (url, file) }

    package func main(_ context: OperationContext) async throws {
        guard !FileManager.default.fileExists(atPath: file) else { return }
        let response = try await Self.client.execute(HTTPClientRequest(url: url), timeout: .seconds(30))
        guard response.status == .ok else { throw Refused(status: Int(response.status.code)) }
        let body = try await response.body.collect(upTo: 1 << 20)
        try WholeFile.write(Data(body.readableBytesView), to: URL(filePath: file))
    }

    /// The server refused the request.
    package struct Refused: OperationFailing, CustomStringConvertible {
        let status: Int

        package init(status: Int) { self.status = status }

        package var failureType: String { "http" }
        /// A request that is wrong now stays wrong.
        package var isRetryable: Bool { status >= 500 }
        package var description: String { "the server answered \(status)" }
    }
}
