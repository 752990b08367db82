import AsyncHTTPClient
import Foundation
import Operations

/// The download of one icon. A worker that registers the type runs it just as well: `SluiceMain.run { $0.register(IconDownload.self) }`.
struct IconDownload: DistributedOperation {
    static let name = "icon.download"
    static let retryPolicy = RetryPolicy(attempts: 3, base: .milliseconds(50))
    static let runTimeout: Duration? = .seconds(30)

    let url: String

    func main(_ context: OperationContext) async throws -> Icon {
        let response = try await HTTPClient.shared.execute(HTTPClientRequest(url: url), timeout: .seconds(30))
        guard response.status == .ok else { throw Refused(status: Int(response.status.code)) }
        let body = try await response.body.collect(upTo: 1 << 20)
        return Icon(data: Data(body.readableBytesView))
    }

    /// The server does not want to.
    struct Refused: OperationFailing, CustomStringConvertible {
        let status: Int
        var failureType: String { "http" }
        /// What is wrong with the request is wrong with the next one too.
        var isRetryable: Bool { status >= 500 }
        var description: String { "the server answered \(status)" }
    }
}

/// A picture as it came.
struct Icon: Codable, Sendable, Hashable {
    let data: Data

    /// Red, green and blue of the first pixel of a binary PPM; nil if it is none.
    var color: [UInt8]? {
        guard data.starts(with: Data("P6\n".utf8)), data.count >= 3 else { return nil }
        return Array(data.suffix(3))
    }
}
