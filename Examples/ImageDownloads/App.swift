import ExampleBasics
import Foundation
import Operations

/// A list of apps gets its icons: at most three downloads at a time, each address once, the results one after the other as they arrive.
@main
@MainActor
enum App {
    static func main() async throws {
        let site = IconSite(icons: 12)
        let server = try await site.serve()
        let apps = AppEntry.list(rows: 30, icons: 12, server: server.address)
        let here = LocalOperationQueue(name: "here", maxConcurrentOperationCount: LocalOperationQueue.unlimited)
        let screen = Screen(apps: apps)
        // The one line that differs where workers run the downloads: … { try await sluice.enqueue($0).value }
        let loader = IconLoader(delegate: screen) { try await here.add($0).value }

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
        if !report.broken.isEmpty { exit(1) }
    }
}
