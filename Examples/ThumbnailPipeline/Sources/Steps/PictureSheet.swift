import ExampleBasics
import Foundation
import Operations
import Pictures

/// Draws all existing thumbnails on a contact sheet.
package struct PictureSheet: DistributedOperation {
    package static let name = "picture.sheet"
    package static let retryPolicy = RetryPolicy(attempts: 3, base: .milliseconds(50))
    package static let runTimeout: Duration? = .seconds(60)

    package let pictures: Int
    package let folder: RunFolder
    /// The path of the sheet's file.
    package let output: String

    package init(pictures: Int, folder: RunFolder, output: String) {
        (self.pictures, self.folder, self.output) = (pictures, folder, output)
    }

    package func main(_ context: OperationContext) async throws {
        try await folder.journal.noteBlocking("sheet") { [pictures, folder, output] in
            let thumbnails = try (0..<pictures).map { picture -> Picture? in
                let file = folder.thumbnail(picture)
                // The file is complete or does not exist.
                guard FileManager.default.fileExists(atPath: file.path) else { return nil }
                return try Picture(png: Array(Data(contentsOf: file)))
            }
            let sheet = ContactSheet(count: pictures).draw(thumbnails)
            try WholeFile.write(Data(sheet.png()), to: URL(filePath: output))
        }
    }
}
