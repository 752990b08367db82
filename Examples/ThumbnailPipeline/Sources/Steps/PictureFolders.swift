import Foundation
import Operations

/// Makes the folders for downloads and thumbnails. Existing folders stay as they are.
package struct PictureFolders: DistributedOperation {
    package static let name = "picture.folders"
    package static let retryPolicy = RetryPolicy(attempts: 3, base: .milliseconds(50))
    package static let runTimeout: Duration? = .seconds(60)

    package let folder: RunFolder

    package init(folder: RunFolder) { self.folder = folder }

    package func main(_ context: OperationContext) async throws {
        try await folder.journal.noteBlocking("folder") { [folder] in
            for url in [folder.downloads, folder.thumbnails] {
                try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
            }
        }
    }
}
