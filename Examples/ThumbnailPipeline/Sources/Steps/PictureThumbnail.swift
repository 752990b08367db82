import ExampleBasics
import Foundation
import Operations
import Pictures

/// Makes the thumbnail of a downloaded picture.
package struct PictureThumbnail: DistributedOperation {
    package static let name = "picture.thumbnail"
    package static let retryPolicy = RetryPolicy(attempts: 3, base: .milliseconds(50))
    package static let runTimeout: Duration? = .seconds(60)

    package let picture: Int
    package let folder: RunFolder

    package struct Made: Codable, Sendable, Hashable {
        package let width: Int
        package let height: Int
    }

    package init(picture: Int, folder: RunFolder) { (self.picture, self.folder) = (picture, folder) }

    package func main(_ context: OperationContext) async throws -> Made {
        try await folder.journal.noteBlocking("resize \(picture)") { [folder, picture] in
            let file = try FileHandle(forReadingFrom: folder.download(picture))
            let large = try Picture(png: Array(file.readToEnd() ?? Data()))
            let small = large.fitted(into: ContactSheet.side)
            // A temporary file and a rename leave one complete file, even if the operation runs twice.
            try WholeFile.write(Data(small.png()), to: folder.thumbnail(picture))
            return Made(width: small.width, height: small.height)
        }
    }
}

extension PNGError: OperationFailing {
    package var failureType: String { "png" }
    /// A file that is no picture now stays no picture.
    package var isRetryable: Bool { false }
}
