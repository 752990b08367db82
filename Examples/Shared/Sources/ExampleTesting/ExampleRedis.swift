import Foundation
import Logging
import Sluice
import TestTools

/// The redis-server of a test process. Tests are separated by namespaces.
public enum ExampleRedis {
    /// The path of the server's socket.
    public static let socket: String = {
        do { return try start() } catch { fatalError("the tests need redis-server: \(error)") }
    }()

    /// The URL for clients and programs.
    public static var url: String { "unix://\(socket)" }

    /// Connects a client with time limits for a busy machine.
    public static func client(namespace: String) async throws -> SluiceClient {
        let configuration = SluiceConfiguration(
            .url(url),
            namespace: namespace,
            timeouts: .init(connect: .seconds(5), command: patience, enqueue: patience)
        )
        return try await SluiceClient.connect(
            configuration,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    /// Starts the server, which ends with the test process, and waits for its socket.
    private static func start() throws -> String {
        let folder = try makeTemporaryFolder()
        let socket = folder + "/redis.sock"
        let options = ["--port", "0", "--unixsocket", socket, "--unixsocketperm", "700", "--save", "", "--dir", folder]
        _ = try WatchedProcess.start("redis-server", options + ["--logfile", folder + "/redis.log"])
        guard comesTrueBlocking({ FileManager.default.fileExists(atPath: socket) }) else {
            let log = try? String(contentsOfFile: folder + "/redis.log", encoding: .utf8)
            throw CommandFailed(description: "redis-server did not start: \(log ?? "no log")")
        }
        return socket
    }
}
