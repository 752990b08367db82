import BuiltinOperations
import Dispatch
import Foundation
import Logging
import WorkerRuntime
import Synchronization

/// Tells a worker's health as long as it runs: looks every two seconds, and writes the file if there is one.
///
/// It has a thread of its own, and the port an event loop: bodies that never yield must not make a worker look dead.
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

    /// Begins.
    ///
    /// - Throws: `CLIError` with `.badConfiguration` if the file cannot be written, or the port not be opened.
    func start() async throws {
        switch target {
        case .file(let path):
            do { try write(to: path) } catch {
                throw CLIError(
                    .badConfiguration,
                    "the health file \(path) cannot be written",
                    notes: ["\(error)"],
                    fix: "--health with the path of a regular file in a folder that exists and may be written"
                )
            }
        case .port(let host, let number):
            let health = health
            let opened = try await HealthServer.start(host: host, port: number) { HealthReport(health()) }
            logger.info("health is told at http://\(opened.address)/live and /ready")
            server.withLock { $0 = opened }
        }
        let thread = Thread { [self] in run() }
        thread.name = "sluice.health"
        thread.stackSize = 512 << 10
        thread.start()
    }

    /// Ends it; the file goes, so that nobody takes the word of a worker that is no more.
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
        // Asking keeps the answer fresh for those who ask more rarely.
        case .port: _ = health()
        }
    }

    /// As a whole or not at all: to a file beside it, which then takes its name.
    private func write(to path: String) throws {
        try PartialFile.replace(path, with: Array(HealthReport(health()).json.utf8))
    }
}
