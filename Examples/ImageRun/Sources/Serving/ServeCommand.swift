import ExampleBasics
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix

/// `image-run serve`: an HTTP server on 127.0.0.1 until SIGTERM or SIGINT.
struct ServeCommand {
    let directory: URL
    let log: URL
    let ready: URL
    let plan: URL?
    let port: UInt16

    /// The content of the ready file.
    struct Readiness: Codable, Hashable {
        let port: Int
        let pid: Int32
    }

    init(_ arguments: [String]) throws {
        let flags = try Flags(arguments, words: ["DIR"], flags: ["--port", "--log", "--ready", "--plan"])
        directory = URL(fileURLWithPath: flags[0], isDirectory: true)
        log = URL(fileURLWithPath: try flags.required("--log"))
        ready = URL(fileURLWithPath: try flags.required("--ready"))
        plan = flags["--plan"].map { URL(fileURLWithPath: $0) }
        port = try flags.number("--port", default: 0, in: 0...UInt16.max)
    }

    func run() async throws {
        let site = try Site(directory: directory, planFile: plan)
        let traffic = try Traffic(log: log)
        let stop = stopSignal()
        // A single thread counts requests in the order in which the kernel reports connections.
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let server = try await listen(group, site, traffic)
        let readiness = Readiness(port: server.localAddress?.port ?? 0, pid: ProcessInfo.processInfo.processIdentifier)
        try WholeFile.write(try JSONEncoder().encode(readiness), to: ready)
        for await _ in stop { break }
        traffic.close()
        try await server.close()
        try await group.shutdownGracefully()
    }

    private func listen(
        _ group: MultiThreadedEventLoopGroup,
        _ site: Site,
        _ traffic: Traffic
    ) async throws -> any Channel {
        let bootstrap = ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 256)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.configureHTTPServerPipeline(withPipeliningAssistance: false)
                    try pipeline.addHandler(RequestHandler(site: site, traffic: traffic))
                }
            }
        do {
            return try await bootstrap.bind(host: "127.0.0.1", port: Int(port)).get()
        } catch {
            throw ImageRunError(.listen, "cannot listen on 127.0.0.1:\(port): \(error)")
        }
    }

    /// Returns a stream with an element at the first SIGTERM or SIGINT.
    private func stopSignal() -> AsyncStream<Void> {
        AsyncStream { continuation in
            for number in [SIGTERM, SIGINT] {
                signal(number, SIG_IGN)
                let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
                source.setEventHandler {
                    continuation.yield()
                    _ = source  // The handler keeps its own source alive.
                }
                source.resume()
            }
        }
    }
}
