import ArgumentParser
import ExampleBasics
import ExampleServer
import Foundation
import PictureSteps
import Pictures
import Sluice

@main
struct App: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "thumbnail-pipeline",
        abstract: "Downloads pictures, makes thumbnails and puts them on a contact sheet: a graph of operations.",
        discussion: """
            Everything happens in this process, or with --workers on workers: start them with "thumbnail-pipeline-worker \
            worker -q downloads,images". SLUICE_REDIS_URL names the Redis; without it, the embedded server is used.
            """
    )

    @Option(help: "How many pictures.") var pictures = 18
    @Option(help: ArgumentHelp("The file of the contact sheet.", valueName: "file.png"))
    var output = FileManager.default.temporaryDirectory.appending(path: "contact-sheet.png").path

    @Flag(help: "Run the graph on workers.") var workers = false

    func validate() throws {
        guard (6...200).contains(pictures) else { throw ValidationError("6 to 200 pictures") }
    }

    func run() async throws {
        guard workers else {
            return try await show(on: LocalQueues())  // in this process
        }
        let sluice = try await SluiceClient.connect(.fromEnvironment(otherwise: .embedded))
        try await show(on: WorkerQueues(sluice))  // on any worker
        await sluice.close()
    }

    private func show(on queues: some StepQueues) async throws {
        let (gallery, watch) = (Gallery(count: pictures), Stopwatch())
        let server = try await gallery.serve()
        let place = FileManager.default.temporaryDirectory.appending(path: "pictures-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: place) }
        let (folder, file) = (RunFolder(place), URL(filePath: output))
        let pipeline = Pipeline(folder: folder, output: file)
        let graph = try await pipeline.start((0..<pictures).map { server.address + Gallery.path($0) }, on: queues)
        try await follow(graph, watch)
        try await graph.sheet.end().result.get()
        let sheet = try Picture(png: Array(Data(contentsOf: file)))
        if isatty(STDOUT_FILENO) == 1 { print(sheet.lines(columns: 78).joined(separator: "\n")) }
        print("  \(watch.text.padded(to: 7)) \(sheet.width) by \(sheet.height) pixels: \(file.path)")
        try await server.stop()
        let inspection = Inspection(
            gallery: gallery,
            graph: graph,
            folder: folder,
            traffic: server.traffic,
            output: file
        )
        let claims = try await inspection.claims()
        print("\n\(claims.table)")
        if !claims.broken.isEmpty { throw ExitCode.failure }
    }

    /// Prints one line for each picture, in order.
    private func follow(_ graph: Pipeline.Graph, _ watch: Stopwatch) async throws {
        print("\(pictures) pictures, 4 downloads and 2 thumbnails at a time:")
        for (index, thumbnail) in graph.thumbnails.enumerated() {
            let end = try await thumbnail.end()
            let size = end.output.map { "\($0.width) by \($0.height)" } ?? "none: \(end.state)"
            let bytes = try await graph.downloads[index].end().output.map { "\($0.bytes) bytes" } ?? "no file"
            print("  \(watch.text.padded(to: 7)) picture \("\(index)".padded(to: 3)) \(bytes.padded(to: 11)) → \(size)")
        }
    }
}
