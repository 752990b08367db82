import Foundation

/// The folder of a run. The program and all workers need access to it, because its files pass pictures from step to
/// step.
package struct RunFolder: RawRepresentable, Codable, Sendable, Hashable {
    /// The path of the folder.
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }
    package init(_ url: URL) { rawValue = url.standardizedFileURL.path }

    private var url: URL { URL(filePath: rawValue, directoryHint: .isDirectory) }
    package var downloads: URL { url.appending(path: "downloads") }
    package var thumbnails: URL { url.appending(path: "thumbnails") }

    package func download(_ picture: Int) -> URL { downloads.appending(path: "\(picture).png") }
    package func thumbnail(_ picture: Int) -> URL { thumbnails.appending(path: "\(picture).png") }

    package var journal: Journal { Journal(file: url.appending(path: "journal").path) }
}
