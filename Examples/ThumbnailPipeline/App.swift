import ArgumentParser
import ExampleBasics
import ExampleServer
import Foundation
import Operations

@main
struct App: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "thumbnail-pipeline",
        abstract: "Downloads pictures, makes thumbnails and puts them on a contact sheet: a graph of operations."
    )

    @Option(help: "How many pictures.") var pictures = 18
    @Option(help: ArgumentHelp("The file of the contact sheet.", valueName: "file.png"))
    var output = FileManager.default.temporaryDirectory.appending(path: "contact-sheet.png").path

    func validate() throws {
        guard (6...200).contains(pictures) else { throw ValidationError("6 to 200 pictures") }
    }

    func run() async throws {
        let (gallery, journal, watch) = (Gallery(count: pictures), Journal(), Stopwatch())
        let server = try await gallery.serve()
        let folder = FileManager.default.temporaryDirectory.appending(path: "pictures-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = URL(filePath: output)
        let pipeline = Pipeline(folder: folder, output: file, journal: journal) { download in
            // The one line that differs where workers download: ValueOperation { try await sluice.enqueue(download).value }
            ValueOperation(running: download)
        }
        let graph = try pipeline.start((0..<pictures).map { server.address + Gallery.path($0) })
        try await follow(graph, watch)
        let sheet = try await graph.sheet.value
        if isatty(STDOUT_FILENO) == 1 { print(sheet.lines(columns: 78).joined(separator: "\n")) }
        print("  \(watch.text.padded(to: 7)) \(sheet.width) by \(sheet.height) pixels: \(file.path)")
        try await server.stop()
        let inspection = Inspection(
            gallery: gallery,
            graph: graph,
            journal: journal,
            traffic: server.traffic,
            output: file
        )
        let claims = try inspection.claims()
        print("\n\(claims.table)")
        if !claims.broken.isEmpty { throw ExitCode.failure }
    }

    /// One mark per picture, in the order in which they end.
    private func follow(_ graph: Pipeline.Graph, _ watch: Stopwatch) async throws {
        print("\(pictures) pictures, 4 downloads and 2 thumbnails at a time:")
        for (index, thumbnail) in graph.thumbnails.enumerated() {
            try await thumbnail.waitUntilFinished()
            let size =
                (try? thumbnail.result?.get()).map { "\($0.width) by \($0.height)" } ?? "none: \(thumbnail.state)"
            let bytes = (try? graph.downloads[index].result?.get()).map { "\($0.bytes) bytes" } ?? "no file"
            print("  \(watch.text.padded(to: 7)) picture \("\(index)".padded(to: 3)) \(bytes.padded(to: 11)) → \(size)")
        }
    }
}
