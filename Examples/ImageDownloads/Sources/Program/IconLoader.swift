import Foundation
import IconDownloads
import Operations

/// Receives every icon, one after the other, in order of arrival.
@MainActor
protocol IconLoaderDelegate: AnyObject {
    /// - Parameters:
    ///   - result: the icon, or the error of its download.
    ///   - app: the row of the icon.
    ///   - arrival: the number of the arrival, from 1.
    func iconLoader(_ loader: IconLoader, received result: Result<Icon, any Error>, for app: AppEntry, arrival: Int)
}

/// Loads icons: at most three at a time, no address twice at once, and no icon again that is in memory.
@MainActor
final class IconLoader {
    /// Runs a download, in this process or on a worker, and returns when the file exists.
    typealias Fetch = @Sendable (IconDownload) async throws -> Void

    private weak var delegate: (any IconLoaderDelegate)?

    private let queue = LocalOperationQueue(name: "icons", maxConcurrentOperationCount: 3)
    private let icons: KeyedOperations<String, Icon>
    private let arrivals = Arrivals()
    private var requested = 0
    private var delivered = 0
    /// Gets an element for each delivery.
    private let deliveries = AsyncStream.makeStream(of: Void.self)
    private let folder: URL
    private let fetch: Fetch

    /// - Parameters:
    ///   - folder: the folder for downloaded files. Workers must have access to it.
    ///   - delegate: receives the icons; held weakly.
    ///   - fetch: runs a download.
    init(folder: URL, delegate: any IconLoaderDelegate, fetch: @escaping Fetch) {
        self.folder = folder
        self.delegate = delegate
        self.fetch = fetch
        // The memory cache: a hundred icons, five minutes each.
        icons = KeyedOperations(queue: queue, freshFor: .seconds(300), maximumResults: 100)
    }

    /// Requests the icon of a row. The delegate receives the icon once, even if it is already in memory.
    func load(_ app: AppEntry) {
        requested += 1
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
                self.deliveries.continuation.yield()
            }
        }
    }

    /// Waits until all requested icons are delivered. The last hooks may run a moment after the queue is empty.
    func waitUntilIdle() async throws {
        try await queue.waitUntilAllOperationsAreFinished()
        guard delivered < requested else { return }
        for await _ in deliveries.stream {
            delivered += 1
            if delivered == requested { break }
        }
    }
}
