import Foundation
import Operations
import PictureSteps

/// Folder → downloads → thumbnails → contact sheet, as operations of two queues that depend only on each other.
///
/// ```
///             ┌─▶ download 0 ─▶ resize 0 ─┐
///   folder ───┼─▶ download 1 ─▶ resize 1 ─┼─▶ sheet
///             └─▶ …                       ┘
/// ```
///
/// A picture that cannot be downloaded cancels its thumbnail (the default policy), but not the sheet (`onFailure:
/// .run`).
struct Pipeline: Sendable {
    private let folder: RunFolder
    private let output: URL

    /// - Parameters:
    ///   - folder: the folder for the files of the steps. The folder must exist, and workers must have access to it.
    ///   - output: the file of the sheet.
    init(folder: RunFolder, output: URL) { (self.folder, self.output) = (folder, output) }

    /// The operations of one run.
    struct Graph: Sendable {
        let downloads: [Step<PictureDownload.Stored>]
        let thumbnails: [Step<PictureThumbnail.Made>]
        let sheet: Step<Void>
    }

    /// Adds the graph. Operations without dependencies begin at once.
    func start(_ addresses: [String], on queues: some StepQueues) async throws -> Graph {
        let folders = try await queues.add(PictureFolders(folder: folder), to: .images, after: [])
        var (downloads, thumbnails): ([Step<PictureDownload.Stored>], [Step<PictureThumbnail.Made>]) = ([], [])
        for (picture, address) in addresses.enumerated() {
            let work = PictureDownload(url: address, picture: picture, folder: folder)
            let download = try await queues.add(work, to: .downloads, after: [folders.dependency])
            let resize = PictureThumbnail(picture: picture, folder: folder)
            downloads.append(download)
            thumbnails.append(try await queues.add(resize, to: .images, after: [download.dependency]))
        }
        let sheet = try await queues.add(
            // Workers have another working directory.
            PictureSheet(pictures: addresses.count, folder: folder, output: output.standardizedFileURL.path),
            to: .images,
            after: thumbnails.map { $0.onFailure(.run) }
        )
        return Graph(downloads: downloads, thumbnails: thumbnails, sheet: sheet)
    }
}
