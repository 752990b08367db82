import ArgumentParser
import ExampleBasics
import Foundation
import IconDownloads
import Operations
import Sluice

@main
struct App: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "image-downloads",
        abstract:
            "Fills a list of apps with icons: three downloads at a time, each address once, shown as they arrive.",
        discussion: """
            Everything happens in this process, or with --workers on workers: start them with "image-downloads-worker \
            worker". SLUICE_REDIS_URL names the Redis; without it, the embedded server is used.
            """
    )

    @Flag(help: "Run the downloads on workers.") var workers = false

    func run() async throws {
        guard workers else {
            let here = LocalOperationQueue(name: "here", maxConcurrentOperationCount: LocalOperationQueue.unlimited)
            return try await show { try await here.add($0).value }  // in this process
        }
        let sluice = try await SluiceClient.connect(.fromEnvironment(otherwise: .embedded))
        try await show { try await sluice.enqueue($0, .unique(.automatic)).value }  // on any worker
        await sluice.close()
    }

    /// Loads the icons for a list of apps: at most three downloads at a time, each address once, and results in order
    /// of arrival.
    @MainActor
    private func show(_ fetch: @escaping IconLoader.Fetch) async throws {
        let site = IconSite(icons: 12)
        let server = try await site.serve()
        let folder = FileManager.default.temporaryDirectory.appending(path: "icons-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let apps = AppEntry.list(rows: 30, icons: 12, server: server.address)
        let screen = Screen(apps: apps)
        let loader = IconLoader(folder: folder, delegate: screen, fetch: fetch)

        print("\(apps.count) rows, 12 icons, 3 at a time:")
        for app in apps { loader.load(app) }
        try await loader.waitUntilIdle()
        let requests = server.traffic.paths.count
        print("The list is scrolled back to its top:")
        for app in apps.prefix(8) { loader.load(app) }
        try await loader.waitUntilIdle()

        let report = screen.report(server.traffic, site, firstRequests: requests, scrolledBack: 8)
        print("\n\(report.table)")
        try await server.stop()
        if !report.broken.isEmpty { throw ExitCode.failure }
    }
}
