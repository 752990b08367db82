import ExampleBasics
import Foundation
import Operations
import Pictures

/// Folder → downloads → thumbnails → contact sheet, as operations that wait for each other and for nobody else.
///
/// ```
///             ┌─▶ download 0 ─▶ resize 0 ─┐
///   folder ───┼─▶ download 1 ─▶ resize 1 ─┼─▶ sheet
///             └─▶ …                       ┘
/// ```
///
/// A picture that cannot be had takes its thumbnail with it (the default policy), but not the sheet (`onFailure: .run`).
struct Pipeline: Sendable {
    typealias Download = @Sendable (PictureDownload) -> ValueOperation<PictureDownload.Stored>

    /// The network may have four requests at a time, pictures two real threads.
    let downloads = LocalOperationQueue(name: "downloads", maxConcurrentOperationCount: 4)
    let images = LocalOperationQueue(name: "images", maxConcurrentOperationCount: 2)

    private let folder: URL
    private let output: URL
    private let journal: Journal
    private let download: Download

    /// - Parameters:
    ///   - folder: where downloads are stored; is made.
    ///   - output: the file of the sheet.
    ///   - journal: is told when each step begins and ends.
    ///   - download: makes the operation that runs a download, here or elsewhere.
    init(folder: URL, output: URL, journal: Journal, download: @escaping Download) {
        (self.folder, self.output, self.journal, self.download) = (folder, output, journal, download)
    }

    /// The operations of one run.
    struct Graph: Sendable {
        let downloads: [ValueOperation<PictureDownload.Stored>]
        let thumbnails: [ValueOperation<Picture>]
        let sheet: ValueOperation<Picture>
    }

    /// Builds the graph and lets it go. The order in which its parts are added does not matter.
    func start(_ addresses: [String]) throws -> Graph {
        let folder = step("folder") { [folder] in
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        }
        var (fetches, thumbnails): ([ValueOperation<PictureDownload.Stored>], [ValueOperation<Picture>]) = ([], [])
        for (index, address) in addresses.enumerated() {
            let fetch = download(PictureDownload(url: address, path: path(of: index)))
            let thumbnail = resize(fetch, index)
            try fetch.addDependency(folder)
            try thumbnail.addDependency(fetch)
            fetches.append(fetch)
            thumbnails.append(thumbnail)
        }
        let sheet = contactSheet(thumbnails)
        for thumbnail in thumbnails { try sheet.addDependency(thumbnail, onFailure: .run) }

        try images.add(sheet)
        for thumbnail in thumbnails { try images.add(thumbnail) }
        for fetch in fetches { try downloads.add(fetch) }
        try images.add(folder)
        return Graph(downloads: fetches, thumbnails: thumbnails, sheet: sheet)
    }

    private func path(of index: Int) -> String { folder.appending(path: "\(index).png").path }

    private func resize(_ fetch: ValueOperation<PictureDownload.Stored>, _ index: Int) -> ValueOperation<Picture> {
        step("resize \(index)") { [journal, path = path(of: index)] in
            if fetch.state == .finished { journal.note("has download \(index)") }
            return try Picture(png: Array(Data(contentsOf: URL(filePath: path)))).fitted(into: 96)
        }
    }

    private func contactSheet(_ thumbnails: [ValueOperation<Picture>]) -> ValueOperation<Picture> {
        step("sheet") { [output] in
            let pictures = thumbnails.map { try? $0.result?.get() }
            let sheet = ContactSheet(count: pictures.count).draw(pictures)
            try WholeFile.write(Data(sheet.png()), to: output)
            return sheet
        }
    }

    /// Work that blocks or computes, on a real thread.
    private func step<Output: Sendable>(
        _ name: String,
        _ body: @escaping @Sendable () throws -> Output
    ) -> ValueOperation<Output> {
        ValueOperation.blocking(LocalOperationOptions(name: name, runTimeout: .seconds(60))) { [journal] in
            journal.begin(name)
            defer { journal.end(name) }
            return try body()
        }
    }
}
