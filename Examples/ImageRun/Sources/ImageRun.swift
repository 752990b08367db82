import Foundation

/// The real input of the quickstart: draws images, serves them with typical server faults, and compares the downloads
/// with the drawn images.
@main
enum ImageRun {
    static let usage = """
        usage: image-run draw DIR [--seed 1] [--count 40] [--largest 5000000]
               image-run serve DIR --log FILE --ready FILE [--port 0] [--plan FILE]
               image-run check --source DIR --target DIR --log FILE --results FILE --max-in-flight N
                               [--expect finished=40,retried=1,dead=1,cancelled=1]
        """

    static func main() async {
        do {
            try await run(Array(CommandLine.arguments.dropFirst()))
        } catch {
            let failure = error as? ImageRunError
            let hint = failure?.code == .usage ? "\n" + usage : ""
            FileHandle.standardError.write(Data("error: \(failure?.message ?? "\(error)")\(hint)\n".utf8))
            exit(failure?.exitCode ?? 70)
        }
    }

    private static func run(_ arguments: [String]) async throws {
        let rest = Array(arguments.dropFirst())
        switch arguments.first {
        case "draw": try DrawCommand(rest).run()
        case "serve": try await ServeCommand(rest).run()
        case "check": try CheckCommand(rest).run()
        case "help", "--help", "-h": print(usage)
        case let verb?: throw ImageRunError(.usage, "unknown command \"\(verb)\"")
        case nil: throw ImageRunError(.usage, "a command is missing")
        }
    }
}
