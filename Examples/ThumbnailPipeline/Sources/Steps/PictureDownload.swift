import AsyncHTTPClient
import ExampleBasics
import Foundation
import Operations

/// The download of one picture into a file.
///
/// The file is complete or does not exist. An existing file means that the operation ran before, and that its worker
/// was lost before Redis knew. In this case nothing is downloaded again.
package struct PictureDownload: DistributedOperation {
    package static let name = "picture.download"
    package static let retryPolicy = RetryPolicy(attempts: 3, base: .milliseconds(50))
    package static let runTimeout: Duration? = .seconds(30)

    package let url: String
    package let picture: Int
    package let folder: RunFolder

    package struct Stored: Codable, Sendable, Hashable {
        package let bytes: Int
    }

    /// One client for the process, because a client keeps connections.
    private static let client: HTTPClient = {
        var configuration = HTTPClient.Configuration()
        // An unreachable server fails the attempt at once. The operation itself retries.
        configuration.connectionPool.retryConnectionEstablishment = false
        return HTTPClient(configuration: configuration)
    }()

    package init(url: String, picture: Int, folder: RunFolder) {
        (self.url, self.picture, self.folder) = (url, picture, folder)
    }

    package func main(_ context: OperationContext) async throws -> Stored {
        try await folder.journal.note("download \(picture)") {
            let file = folder.download(picture)
            if FileManager.default.fileExists(atPath: file.path) {
                return Stored(bytes: try file.resourceValues(forKeys: [.fileSizeKey]).fileSize ?? 0)
            }
            let response = try await Self.client.execute(HTTPClientRequest(url: url), timeout: .seconds(30))
            guard response.status == .ok else { throw Refused(status: Int(response.status.code)) }
            let body = try await response.body.collect(upTo: 16 << 20)
            // A temporary file and a rename leave one complete file, even if the operation runs twice.
            try WholeFile.write(Data(body.readableBytesView), to: file)
            return Stored(bytes: body.readableBytes)
        }
    }

    /// The server refused the request.
    struct Refused: OperationFailing, CustomStringConvertible {
        let status: Int
        var failureType: String { "http" }
        /// A request that is wrong now stays wrong.
        var isRetryable: Bool { status >= 500 }
        var description: String { "the server answered \(status)" }
    }
}
