import CZlib
import Foundation
import Operations
import Pictures
import TestTools
import Testing

@testable import PictureSteps
@testable import thumbnail_pipeline

@Suite("Thumbnail pipeline", .timeLimit(.minutes(60)))
struct ThumbnailPipelineTests {
    @Test("The program exits with 0 for any number of pictures, and all its claims hold", arguments: [6, 31])
    func program(pictures: Int) async throws {
        let folder = try TemporaryDirectory()
        let arguments = ["--pictures", "\(pictures)", "--output", folder.path("sheet.png")]
        let outcome = try await Program.run("thumbnail-pipeline", arguments)
        #expect(outcome.code == 0, "\(outcome.output)\(outcome.errors)")
        #expect(outcome.output.split(separator: "\n").filter { $0.hasPrefix("✓") }.count == 7)
        let sheet = try Picture(png: Array(Data(contentsOf: URL(filePath: folder.path("sheet.png")))))
        #expect(sheet.width == 6 * 104 + 8 && sheet.height == (pictures + 5) / 6 * 104 + 8)
    }

    @Test("A sheet that cannot be written ends the program with an error")
    func unwritable() async throws {
        let outcome = try await Program.run("thumbnail-pipeline", ["--output", "/nowhere/sheet.png"])
        #expect(outcome.code == 1)
        #expect(!outcome.errors.isEmpty)
    }

    @Test("After the one changed line, workers of a real Redis run the graph")
    func distributed() async throws {
        let (gallery, temporary) = (Gallery(count: 12), try TemporaryDirectory())
        let server = try await gallery.serve()
        let cluster = try await SmallCluster(queues: ["downloads", "images"]) {
            $0.register(PictureFolders.self)
            $0.register(PictureDownload.self)
            $0.register(PictureThumbnail.self)
            $0.register(PictureSheet.self)
        }
        let (folder, output) = (RunFolder(temporary.url), temporary.url.appending(path: "sheet.png"))
        let pipeline = Pipeline(folder: folder, output: output)
        let addresses = (0..<12).map { server.address + Gallery.path($0) }
        let graph = try await pipeline.start(addresses, on: WorkerQueues(cluster.sluice))
        try await graph.sheet.end().result.get()
        let traffic = server.traffic
        let inspection = Inspection(gallery: gallery, graph: graph, folder: folder, traffic: traffic, output: output)
        let claims = try await inspection.claims()
        #expect(claims.broken.isEmpty, "\(claims.table)")
        try await cluster.end()
        try await server.stop()
    }

    @Test("No step starts before its dependencies, and a cancel of the first step leaves only the sheet")
    func cancelled() async throws {
        let (queues, temporary) = (LocalQueues(), try TemporaryDirectory())
        let (folder, output) = (RunFolder(temporary.url), temporary.url.appending(path: "sheet.png"))
        queues.images.isSuspended = true
        let graph = try await Pipeline(folder: folder, output: output)
            .start((0..<6).map { "http://127.0.0.1:1/\($0)" }, on: queues)
        let root = try #require(queues.images.operations.first { $0.name == PictureFolders.name })
        root.cancel()
        for thumbnail in graph.thumbnails { #expect(try await thumbnail.end().state == .cancelled) }
        for download in graph.downloads { #expect(try await download.end().state == .cancelled) }
        queues.images.isSuspended = false
        #expect(try await graph.sheet.end().state == .finished)
        #expect(folder.journal.lines.map(\.entry) == ["begin sheet", "end sheet"])
        #expect(try Picture(png: Array(Data(contentsOf: output)))[20, 20] == ContactSheet.missing)
    }

    @Test("The number of steps at once is counted from the journal, and a killed process counts until its last line")
    func counted() {
        func most(_ lines: (Int32, Journal.Line.Event, String)...) -> Int {
            Journal.mostAtOnce(lines.map { Journal.Line(process: $0, event: $1, step: $2) }) { $0 != "download" }
        }
        #expect(most() == 0)
        #expect(most((1, .begin, "a"), (1, .end, "a"), (1, .begin, "b"), (1, .fail, "b")) == 1)
        #expect(most((1, .begin, "a"), (2, .begin, "b"), (3, .begin, "c"), (2, .end, "b"), (1, .end, "a")) == 3)
        #expect(most((1, .begin, "a"), (1, .begin, "download"), (1, .end, "download"), (1, .end, "a")) == 1)
        // Process 1 is killed in a, and process 2 runs a again.
        #expect(most((1, .begin, "a"), (2, .begin, "b"), (2, .end, "b"), (2, .begin, "a"), (2, .end, "a")) == 1)
        #expect(most((1, .begin, "a"), (2, .begin, "b"), (1, .begin, "download"), (2, .end, "b")) == 2)
    }
}

@Suite("Pictures", .timeLimit(.minutes(60)))
struct PicturesTests {
    @Test("A picture written as PNG is read unchanged", arguments: [(1, 1), (3, 7), (64, 64), (301, 5)])
    func roundTrip(width: Int, height: Int) throws {
        var picture = Picture(width: width, height: height)
        for y in 0..<height {
            for x in 0..<width { picture[x, y] = Picture.Color(UInt8(x % 256), UInt8(y % 256), UInt8(x * y % 256)) }
        }
        #expect(try Picture(png: picture.png()) == picture)
    }

    @Test("Noise, which cannot be compressed, is read unchanged")
    func noise() throws {
        var generator = SystemRandomNumberGenerator()
        var picture = Picture(width: 200, height: 200)
        for y in 0..<200 {
            for x in 0..<200 { picture[x, y] = Picture.Color.random(in: 0...255, using: &generator) }
        }
        #expect(try Picture(png: picture.png()) == picture)
    }

    @Test("A file that is not a PNG, is cut, or claims to be huge is refused with a reason")
    func refused() throws {
        let png = try Picture(width: 40, height: 40, color: Picture.Color(1, 2, 3)).png()
        #expect(throws: PNGError.self) { try Picture(png: []) }
        #expect(throws: PNGError.self) { try Picture(png: Array("no picture".utf8)) }
        for length in stride(from: 8, to: png.count - 12, by: 5) {
            #expect(throws: PNGError.self) { try Picture(png: Array(png.prefix(length))) }
        }
        // Width and height stand after signature, length and name of the first chunk. The checksum follows them.
        var huge = png
        for (offset, byte) in [(16, 0), (17, 0), (18, 0x24), (19, 0), (20, 0), (21, 0), (22, 0x24), (23, 0)]
            as [(Int, UInt8)]
        {
            huge[offset] = byte
        }
        let sum = UInt32(crc32(0, Array(huge[12..<29]), 17))
        for (index, shift) in [24, 16, 8, 0].enumerated() { huge[29 + index] = UInt8(truncatingIfNeeded: sum >> shift) }
        let error = #expect(throws: PNGError.self) { try Picture(png: huge) }
        #expect(error?.description == "a picture of 9216 by 9216 pixels")
    }

    @Test("A smaller picture keeps its shape and averages pixels")
    func fitted() {
        var picture = Picture(width: 300, height: 100, color: Picture.Color(100, 0, 0))
        picture.draw(Picture(width: 150, height: 100, color: Picture.Color(0, 200, 0)), x: 150, y: 0)
        let small = picture.fitted(into: 30)
        #expect(small.width == 30 && small.height == 10)
        #expect(small[0, 0] == Picture.Color(100, 0, 0) && small[29, 9] == Picture.Color(0, 200, 0))
        #expect(picture.fitted(into: 3)[1, 0] == Picture.Color(50, 100, 0))
        #expect(small.fitted(into: 100) == small)
        #expect(picture.average(0..<300, 0..<100) == Picture.Color(50, 100, 0))
    }

    @Test("Drawing over the edge is cut off")
    func drawing() {
        var picture = Picture(width: 4, height: 4)
        picture.draw(Picture(width: 4, height: 4, color: Picture.Color(9, 9, 9)), x: 2, y: 3)
        #expect(picture.pixels.filter { $0 == Picture.Color(9, 9, 9) }.count == 2)
    }
}
