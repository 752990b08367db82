import ExampleBasics
import ExampleServer
import ExampleTesting
import Foundation
import Pictures
import Sluice
import Testing
import TestTools

@testable import PictureSteps
@testable import thumbnail_pipeline

@Suite("Thumbnail pipeline on workers", .timeLimit(.minutes(60)))
struct ThumbnailPipelineOnWorkersTests {
    private let temporary: TemporaryDirectory
    private let workers: RealWorkers

    init() async throws {
        temporary = try TemporaryDirectory()
        workers = try await RealWorkers()
    }

    private var folder: RunFolder { RunFolder(temporary.url) }
    private var output: URL { temporary.url.appending(path: "sheet.png") }

    /// Starts a worker with a short lease, so that its operations soon run elsewhere when it is lost.
    private func worker(slots: Int) throws -> Program {
        let program = "thumbnail-pipeline-worker"
        return try workers.start(program, "worker", "-q", "downloads,images", "-c", "\(slots)", "--lease", "10s")
    }

    private func start(_ gallery: Gallery, on server: ExampleServer) async throws -> Pipeline.Graph {
        try await Pipeline(folder: folder, output: output)
            .start(
                (0..<gallery.count).map { server.address + Gallery.path($0) },
                on: WorkerQueues(workers.sluice)
            )
    }

    /// Checks all claims of the program, and the folder: each thumbnail is complete and correct, and nothing else
    /// exists.
    private func inspect(_ gallery: Gallery, _ graph: Pipeline.Graph, _ server: ExampleServer) async throws {
        try await graph.sheet.end().result.get()
        let traffic = server.traffic
        let inspection = Inspection(gallery: gallery, graph: graph, folder: folder, traffic: traffic, output: output)
        let claims = try await inspection.claims()
        #expect(claims.broken.isEmpty, "\(claims.table)")
        let pictures = (0..<gallery.count).filter { ![gallery.missing, gallery.damaged].contains($0) }
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.thumbnails.path)
        #expect(names.sorted() == pictures.map { "\($0).png" }.sorted())
        for picture in pictures {
            let thumbnail = try Picture(png: Array(Data(contentsOf: folder.thumbnail(picture))))
            #expect(thumbnail == Gallery.draw(picture).fitted(into: ContactSheet.side))
        }
    }

    private func recovered() async throws -> [Int64] {
        [try await workers.recovered(queue: "downloads"), try await workers.recovered(queue: "images")]
    }

    @Test("The program exits with 0 on two workers, and all its claims hold")
    func program() async throws {
        let fleet = try (0..<2).map { _ in try worker(slots: 4) }
        let sheet = temporary.path("sheet.png")
        let program = try workers.start("thumbnail-pipeline", "--workers", "--pictures", "18", "--output", sheet)
        let outcome = await program.outcome()
        #expect(outcome.code == 0, "\(outcome.output)\(outcome.errors)")
        #expect(outcome.output.split(separator: "\n").filter { $0.hasPrefix("✓") }.count == 7)
        for (queue, limit) in [("downloads", 4), ("images", 2)] {
            #expect(try await workers.sluice.limit(queue: queue).concurrency == limit)
        }
        for worker in fleet { await worker.stop() }
        await workers.close()
    }

    @Test("After a worker is killed in a download, the other worker downloads the picture, and the graph continues")
    func killedInADownload() async throws {
        let (gallery, gate, held) = (Gallery(count: 8), Latch(), Gauge())
        let server = try await gallery.serve { picture in
            // The first two pictures are served at once, including the one that fails at first.
            guard picture >= 2 else { return }
            held.begin()
            await gate.wait()
        }
        let fleet = try (0..<2).map { _ in try worker(slots: 1) }
        let graph = try await start(gallery, on: server)
        try await eventually("each worker waits for a picture") { held.total == 2 }
        await fleet[0].kill()
        gate.open()
        try await inspect(gallery, graph, server)
        #expect(try await recovered() == [1, 0])
        // One picture fails first, and another belongs to the killed worker. On a slow machine, a request may time out
        // as well.
        let requests = Dictionary(grouping: server.traffic.paths) { $0 }.mapValues(\.count)
        #expect(requests.count == gallery.count && requests.values.count { $0 > 1 } == 2, "\(requests)")
        await fleet[1].stop()
        await workers.close()
        try await server.stop()
    }

    @Test("After a worker is killed in a thumbnail, the other worker makes it, and the sheet shows it in its place")
    func killedInAThumbnail() async throws {
        let (gallery, held) = (Gallery(count: 8), 2)
        let server = try await gallery.serve()
        // A pipe replaces this download, so that the thumbnail's worker waits.
        try FileManager.default.createDirectory(at: folder.downloads, withIntermediateDirectories: true)
        try #require(mkfifo(folder.download(held).path, 0o600) == 0)
        let fleet = try (0..<2).map { _ in try worker(slots: 2) }
        let graph = try await start(gallery, on: server)
        try await eventually("a worker makes the thumbnail") { thumbnailWorker(of: held) != nil }
        let killed = try #require(fleet.first { $0.identifier == thumbnailWorker(of: held) })
        let other = try #require(fleet.first { $0 !== killed })
        try await eventually("only the sheet waits for it") {
            let images = try await workers.sluice.statistics(queue: "images")
            // The folders, and all thumbnails except this one, the missing one and the damaged one.
            return images[state: .finished] == 1 + gallery.count - 3 && images[state: .dead] == 1
                && images[state: .cancelled] == 1
        }
        await killed.kill()
        #expect(!FileManager.default.fileExists(atPath: output.path))
        #expect(!FileManager.default.fileExists(atPath: folder.thumbnail(held).path))
        // A rename replaces the pipe by a picture, as if it had been downloaded.
        let picture = temporary.url.appending(path: "picture.png")
        try Data(Gallery.draw(held).png()).write(to: picture)
        try #require(rename(picture.path, folder.download(held).path) == 0)
        try await inspect(gallery, graph, server)
        #expect(try await recovered() == [0, 1])
        let again = folder.journal.lines.filter { $0.entry == "begin resize \(held)" }.map(\.process)
        #expect(again == [killed.identifier, other.identifier])
        await other.stop()
        await workers.close()
        try await server.stop()
    }

    /// Returns the process that began to make a thumbnail.
    private func thumbnailWorker(of picture: Int) -> Int32? {
        folder.journal.lines.first { $0.entry == "begin resize \(picture)" }?.process
    }
}
