import Foundation
import Sluice
import Testing

/// A redis-server of its own on a unix socket, which ends with this value.
final class RedisServer {
    let folder: URL
    private let process = Process()

    var url: String { "unix://\(folder.path)/redis.sock" }

    /// The configuration of a client, with time limits for a busy machine.
    var configuration: SluiceConfiguration {
        let patience = Duration.seconds(180)
        let timeouts = SluiceConfiguration.Timeouts(connect: .seconds(5), command: patience, enqueue: patience)
        return SluiceConfiguration(.url(url), timeouts: timeouts)
    }

    init() async throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "hummingbird-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [
            "redis-server", "--port", "0", "--unixsocket", "\(folder.path)/redis.sock", "--save", "", "--dir",
            folder.path,
        ]
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        #expect(await becomesTrue { FileManager.default.fileExists(atPath: "\(folder.path)/redis.sock") })
    }

    deinit {
        // A process of `Process` may have inherited blocked signals, and nothing of this server is worth saving.
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        try? FileManager.default.removeItem(at: folder)
    }
}

/// Waits until a condition holds.
///
/// - Returns: false after three minutes.
func becomesTrue(_ condition: () async throws -> Bool) async rethrows -> Bool {
    let deadline = ContinuousClock.now + .seconds(180)
    while ContinuousClock.now < deadline {
        if try await condition() { return true }
        try? await Task.sleep(for: .milliseconds(20))
    }
    return false
}
