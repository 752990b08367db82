import ExampleBasics
import ExampleServer
import Foundation
import IconDownloads
import Operations
import Synchronization
import TestTools
import Testing

@testable import image_downloads

/// Collects the deliveries of the loader.
@MainActor
final class Deliveries: IconLoaderDelegate {
    private(set) var rows: [Int] = []
    private(set) var arrivals: [Int] = []
    private(set) var results: [Result<Icon, any Error>] = []
    private var waiting: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []

    func iconLoader(_ loader: IconLoader, received result: Result<Icon, any Error>, for app: AppEntry, arrival: Int) {
        rows.append(app.row)
        arrivals.append(arrival)
        results.append(result)
        for waiter in waiting where waiter.count <= rows.count { waiter.continuation.resume() }
        waiting.removeAll { $0.count <= rows.count }
    }

    func wait(count: Int) async {
        if rows.count >= count { return }
        await withCheckedContinuation { waiting.append((count, $0)) }
    }
}

/// A site on which "e" is missing until it is repaired.
private final class FakeSite: Sendable {
    private let list = Mutex<[String]>([])
    private let isRepaired = Atomic(false)
    private let gauge = Gauge()

    var visits: [String] { list.withLock { $0 } }
    var mostAtOnce: Int { gauge.most }

    func repair() { isRepaired.store(true, ordering: .sequentiallyConsistent) }

    func visit(_ url: String, _ stay: () async -> Void) async throws {
        gauge.begin()
        defer { gauge.end() }
        list.withLock { $0.append(url) }
        await stay()
        let isMissing = url == "e" && !isRepaired.load(ordering: .sequentiallyConsistent)
        if isMissing { throw IconDownload.Refused(status: 404) }
    }
}

@Suite("Image downloads", .timeLimit(.minutes(60)))
struct ImageDownloadsTests {
    private static let icon = Icon(data: Data("icon".utf8))
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private static func store(_ download: IconDownload) throws {
        try icon.data.write(to: URL(filePath: download.file), options: .atomic)
    }

    private static func app(_ row: Int, _ icon: String) -> AppEntry { AppEntry(row: row, name: "app", icon: icon) }

    @Test("The program exits with 0, and all its claims hold")
    func program() async throws {
        let outcome = try await Program.run("image-downloads", [])
        #expect(outcome.code == 0, "\(outcome.errors)")
        #expect(outcome.output.split(separator: "\n").filter { $0.hasPrefix("✓") }.count == 7)
        #expect(!outcome.output.contains("✗"))
    }

    @Test("The delegate is called in the order in which icons arrive, not in the order of requests")
    func order() async throws {
        let gates = ["a": Latch(), "b": Latch(), "c": Latch()]
        let deliveries = Deliveries()
        let loader = await IconLoader(folder: folder.url, delegate: deliveries) { download in
            await gates[download.url]?.wait()
            try Self.store(download)
        }
        for (row, url) in ["a", "b", "c"].enumerated() { await loader.load(Self.app(row, url)) }
        for (count, url) in ["c", "a", "b"].enumerated() {
            gates[url]?.open()
            await deliveries.wait(count: count + 1)
        }
        #expect(await deliveries.rows == [2, 0, 1])
        #expect(await deliveries.arrivals == [1, 2, 3])
    }

    @Test("Three downloads run at a time, each address once, cached icons not at all, and failed ones again")
    func sharing() async throws {
        let (site, gate) = (FakeSite(), Latch())
        let deliveries = Deliveries()
        let loader = await IconLoader(folder: folder.url, delegate: deliveries) { download in
            try await site.visit(download.url) { await gate.wait() }
            try Self.store(download)
        }
        for row in 0..<20 { await loader.load(Self.app(row, ["a", "b", "c", "d", "e"][row % 5])) }
        try await eventually("three are in flight") { site.visits.count == 3 }
        gate.open()
        try await loader.waitUntilIdle()
        #expect(site.visits.sorted() == ["a", "b", "c", "d", "e"])
        #expect(site.mostAtOnce == 3)
        #expect(await deliveries.results.filter { (try? $0.get()) == nil }.count == 4)
        site.repair()
        for url in ["a", "e"] { await loader.load(Self.app(99, url)) }
        try await loader.waitUntilIdle()
        #expect(site.visits.sorted() == ["a", "b", "c", "d", "e", "e"])
        #expect(await deliveries.results.count == 22)
        #expect(try await deliveries.results.suffix(2).map { try $0.get() } == [Self.icon, Self.icon])
    }
}
