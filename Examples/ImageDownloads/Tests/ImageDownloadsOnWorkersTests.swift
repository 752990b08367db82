import ExampleServer
import ExampleTesting
import Foundation
import IconDownloads
import Sluice
import Testing
import TestTools

@testable import image_downloads

@Suite("Image downloads on workers", .timeLimit(.minutes(60)))
struct ImageDownloadsOnWorkersTests {
    private static let worker = "image-downloads-worker"
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    /// Starts a server that answers only after the gate is open.
    private static func serve(_ icons: Int, behind gate: Latch) async throws -> ExampleServer {
        try await ExampleServer.start { request in
            guard let icon = (0..<icons).first(where: { IconSite.path($0) == request.path }), await gate.wait() else {
                return ExampleServer.Response(404)
            }
            return ExampleServer.Response(200, body: Array(IconSite.picture(icon)))
        }
    }

    private func files() throws -> [String: Data] {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.url.path)
        return try Dictionary(
            uniqueKeysWithValues: names.map { ($0, try Data(contentsOf: folder.url.appending(path: $0))) }
        )
    }

    @Test("The program exits with 0 on two workers, and all its claims hold")
    func program() async throws {
        let workers = try await RealWorkers()
        let fleet = try (0..<2).map { _ in try workers.start(Self.worker, "worker", "-c", "2") }
        let outcome = try await workers.start("image-downloads", "--workers").outcome()
        #expect(outcome.code == 0, "\(outcome.output)\(outcome.errors)")
        #expect(outcome.output.split(separator: "\n").filter { $0.hasPrefix("✓") }.count == 7)
        for worker in fleet { await worker.stop() }
        await workers.close()
    }

    @Test("After a worker is killed in a download, the other worker downloads each icon once")
    func killedInADownload() async throws {
        let (workers, gate) = (try await RealWorkers(), Latch())
        let server = try await Self.serve(6, behind: gate)
        let fleet = try (0..<2).map { _ in try workers.start(Self.worker, "worker", "-c", "1", "--lease", "15s") }
        let (deliveries, sluice) = (Deliveries(), workers.sluice)
        let loader = await IconLoader(folder: folder.url, delegate: deliveries) {
            try await sluice.enqueue($0, .unique(.automatic)).value
        }
        for app in AppEntry.list(rows: 12, icons: 6, server: server.address) { await loader.load(app) }
        try await eventually("each worker waits for an icon") { server.traffic.paths.count == 2 }
        await fleet[0].kill()
        #expect(try files().isEmpty)
        gate.open()
        try await loader.waitUntilIdle()

        let pictures = (0..<6).map { ("icon-\($0).ppm", IconSite.picture($0)) }
        #expect(try files() == Dictionary(uniqueKeysWithValues: pictures))
        let requests = (0..<6).map { server.traffic.requests(for: IconSite.path($0)) }.sorted()
        // On a slow machine, a request may time out as well.
        #expect(
            requests[0...4] == [1, 1, 1, 1, 1] && requests[5] >= 2,
            "only the lost download begins again: \(requests)"
        )
        #expect(try await workers.recovered() == 1)
        #expect(await deliveries.rows.sorted() == Array(0..<12))
        #expect(await deliveries.arrivals == Array(1...12))
        #expect(await deliveries.results.allSatisfy { (try? $0.get()) != nil })
        await fleet[1].stop()
        await workers.close()
        try await server.stop()
    }

    @Test(
        "After a worker is killed between the file and the end of its operation, the next worker downloads nothing"
    )
    func killedBehindTheFile() async throws {
        let (workers, gate) = (try await RealWorkers(), Latch())
        let server = try await Self.serve(1, behind: gate)
        let proxy = try await SilentProxy.start(to: ExampleRedis.socket)
        // The lease must not lapse before the file exists.
        let first = try workers.start(Self.worker, "worker", "-c", "1", "--lease", "8s", url: proxy.url)
        let file = folder.path("icon-0.ppm")
        let handle = try await workers.sluice.enqueue(IconDownload(url: server.address + IconSite.path(0), file: file))
        try await eventually("it waits for the icon") { server.traffic.paths.count == 1 }
        // From here on, Redis receives nothing from this worker.
        proxy.silence()
        gate.open()
        try await eventually("the file is there") { FileManager.default.fileExists(atPath: file) }
        await first.kill()
        #expect(try await handle.state() == .executing)
        let second = try workers.start(Self.worker, "worker", "-c", "1", "--lease", "15s")
        try await handle.value
        #expect(try await workers.recovered() == 1)
        #expect(server.traffic.paths.count == 1)
        #expect(try files() == ["icon-0.ppm": IconSite.picture(0)])
        await second.stop()
        proxy.stop()
        await workers.close()
        try await server.stop()
    }
}
