import BuiltinOperations
import Dispatch
import Foundation
import Logging
import WorkerRuntime
import Synchronization

/// Publishes a worker's health while it runs. Checks the health every two seconds, and writes a file or serves a port.
///
/// The file has its own thread and the port an event loop, because bodies that never yield must not make a worker look
/// dead.
final class HealthPost: Sendable {
    private static let interval: DispatchTimeInterval = .seconds(2)

    private let target: HealthTarget
    private let logger: Logger
    private let health: @Sendable () -> WorkerHealth
    private let server = Mutex<HealthServer?>(nil)
    private let isEnding = DispatchSemaphore(value: 0)
    private let hasEnded = DispatchSemaphore(value: 0)

    init(_ target: HealthTarget, logger: Logger, health: @escaping @Sendable () -> WorkerHealth) {
        self.target = target
        self.logger = logger
        self.health = health
    }

    /// Starts to publish.
    ///
    /// - Throws: `CLIError` with `.badConfiguration` if the file cannot be written or the port cannot be opened.
    func start() async throws {
        switch target {
        case .file(let path):
            do { try write(to: path) } catch {
                throw CLIError(
                    .badConfiguration,
                    "the health file \(path) cannot be written",
                    notes: ["\(error)"],
                    fix: "--health FILE with a regular file in an existing, writable folder"
                )
            }
        case .port(let host, let number):
            let health = health
            let opened = try await HealthServer.start(host: host, port: number) { HealthReport(health()) }
            logger.info("serving health checks at http://\(opened.address)/live and /ready")
            server.withLock { $0 = opened }
        }
        let thread = Thread { [self] in run() }
        thread.name = "sluice.health"
        thread.stackSize = 512 << 10
        thread.start()
    }

    /// Stops, and removes the file: it must not show the health of an ended worker.
    func stop() async {
        isEnding.signal()
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { [hasEnded] in
                hasEnded.wait()
                continuation.resume()
            }
        }
        await server.withLock { $0 }?.stop()
    }

    private func run() {
        var hasFailed = false
        while isEnding.wait(timeout: .now() + Self.interval) == .timedOut {
            do {
                try tick()
                hasFailed = false
            } catch {
                if !hasFailed { logger.warning("the health file cannot be written", metadata: ["error": "\(error)"]) }
                hasFailed = true
            }
        }
        if case .file(let path) = target { PartialFile.remove(path) }
        hasEnded.signal()
    }

    private func tick() throws {
        switch target {
        case .file(let path): try write(to: path)
        // A regular check keeps the state fresh between rare requests.
        case .port: _ = health()
        }
    }

    /// Writes the file atomically: writes another file and renames it.
    private func write(to path: String) throws {
        try PartialFile.replace(path, with: Array(HealthReport(health()).json.utf8))
    }
}
