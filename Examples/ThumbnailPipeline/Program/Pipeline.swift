import Foundation
import Operations
import PictureSteps

/// Folder → downloads → thumbnails → contact sheet, as operations of two queues that wait for each other and for nothing else.
///
/// ```
///             ┌─▶ download 0 ─▶ resize 0 ─┐
///   folder ───┼─▶ download 1 ─▶ resize 1 ─┼─▶ sheet
///             └─▶ …                       ┘
/// ```
///
/// A picture that cannot be had takes its thumbnail with it (the default policy), but not the sheet (`onFailure: .run`).
struct Pipeline: Sendable {
    private let folder: RunFolder
    private let output: URL

    /// - Parameters:
    ///   - folder: where the files of the steps are; it is there. Workers must see it, too.
    ///   - output: the file of the sheet.
    init(folder: RunFolder, output: URL) { (self.folder, self.output) = (folder, output) }

    /// The operations of one run.
    struct Graph: Sendable {
        let downloads: [Step<PictureDownload.Stored>]
        let thumbnails: [Step<PictureThumbnail.Made>]
        let sheet: Step<Void>
    }

    /// Adds the graph. What waits for nothing begins at once.
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
