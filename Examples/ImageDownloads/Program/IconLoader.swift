import Foundation
import IconDownloads
import Operations

/// Gets every icon, one after the other, in the order in which they arrive.
@MainActor
protocol IconLoaderDelegate: AnyObject {
    /// - Parameters:
    ///   - result: the icon, or why there is none.
    ///   - app: for which row.
    ///   - arrival: the how manieth to arrive, from 1.
    func iconLoader(_ loader: IconLoader, received result: Result<Icon, any Error>, for app: AppEntry, arrival: Int)
}

/// Loads icons: at most three at a time, no address twice at once, and none again that is in memory.
@MainActor
final class IconLoader {
    /// Runs a download, here or elsewhere, and returns when its file is there.
    typealias Fetch = @Sendable (IconDownload) async throws -> Void

    private weak var delegate: (any IconLoaderDelegate)?

    private let queue = LocalOperationQueue(name: "icons", maxConcurrentOperationCount: 3)
    private let icons: KeyedOperations<String, Icon>
    private let arrivals = Arrivals()
    private let folder: URL
    private let fetch: Fetch

    /// - Parameters:
    ///   - folder: where downloads put their files. Workers must see it, too.
    ///   - delegate: gets what arrives; not kept alive.
    ///   - fetch: runs a download.
    init(folder: URL, delegate: any IconLoaderDelegate, fetch: @escaping Fetch) {
        self.folder = folder
        self.delegate = delegate
        self.fetch = fetch
        // The memory cache: a hundred icons, five minutes each.
        icons = KeyedOperations(queue: queue, freshness: .seconds(300), maximumResults: 100)
    }

    /// Asks for the icon of a row. The delegate gets it, once, also if it is in memory already.
    func load(_ app: AppEntry) {
        let file = folder.appending(path: app.file).path
        let operation = icons.run(app.icon) { [fetch] in
            try await fetch(IconDownload(url: app.icon, file: file))
            return try Icon(file: file)
        }.operation
        operation.onEnd { [weak self, weak operation, arrivals] _ in
            guard let result = operation?.result else { return }
            arrivals.add { @MainActor arrival in
                guard let self else { return }
                self.delegate?.iconLoader(self, received: result, for: app, arrival: arrival)
            }
        }
    }

    /// Waits until everything that was asked for has been delivered.
    func waitUntilIdle() async throws {
        try await queue.waitUntilAllOperationsAreFinished()
        try await arrivals.waitUntilDelivered()
    }
}
