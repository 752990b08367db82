import AsyncHTTPClient
import ExampleBasics
import Foundation
import Operations

/// The download of one picture into a file. Workers that share the folder run it just as well:
/// `SluiceMain.run { $0.register(PictureDownload.self) }`.
struct PictureDownload: DistributedOperation {
    static let name = "picture.download"
    static let retryPolicy = RetryPolicy(attempts: 3, base: .milliseconds(50))
    static let runTimeout: Duration? = .seconds(30)

    let url: String
    let path: String

    struct Stored: Codable, Sendable, Hashable {
        let path: String
        let bytes: Int
    }

    func main(_ context: OperationContext) async throws -> Stored {
        let response = try await HTTPClient.shared.execute(HTTPClientRequest(url: url), timeout: .seconds(30))
        guard response.status == .ok else { throw Refused(status: Int(response.status.code)) }
        let body = try await response.body.collect(upTo: 16 << 20)
        // Beside the target and renamed: a run that came twice leaves one whole file.
        try WholeFile.write(Data(body.readableBytesView), to: URL(filePath: path))
        return Stored(path: path, bytes: body.readableBytes)
    }

    /// The server does not want to.
    struct Refused: OperationFailing, CustomStringConvertible {
        let status: Int
        var failureType: String { "http" }
        var isRetryable: Bool { status >= 500 }
        var description: String { "the server answered \(status)" }
    }
}
