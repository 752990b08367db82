import Foundation
import Synchronization

/// A program of this package, run as its own process; it does not outlive the value.
///
/// What it writes goes to files: children of other tests may inherit a pipe, which then never ends.
package final class Program: Sendable {
    /// How a program ended.
    package struct Outcome: Sendable, Hashable {
        /// The exit code; for a program that a signal ended, 128 and the signal's number, as shells say it.
        package let code: Int32
        package let output: String
        package let errors: String
    }

    private let process: Mutex<Process>
    private let folder: TemporaryDirectory
    private let ends: AsyncStream<Int32>

    /// Starts a program.
    /// - Parameters:
    ///   - name: The product's name (`image-run`).
    ///   - arguments: Its arguments.
    ///   - environment: Variables beside, or instead of, those of the tests.
    package init(_ name: String, _ arguments: [String], environment: [String: String] = [:]) throws {
        let process = Process()
        process.executableURL = Self.directory.appendingPathComponent(name)
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardInput = FileHandle.nullDevice
        folder = try TemporaryDirectory()
        process.standardOutput = try Self.file(folder.path("output"))
        process.standardError = try Self.file(folder.path("errors"))
        let (ends, end) = AsyncStream<Int32>.makeStream(bufferingPolicy: .bufferingNewest(1))
        process.terminationHandler = { process in
            let signalled = process.terminationReason == .uncaughtSignal
            end.yield(signalled ? 128 + process.terminationStatus : process.terminationStatus)
            end.finish()
        }
        try process.run()
        self.ends = ends
        self.process = Mutex(process)
    }

    deinit { send(SIGKILL) }

    /// The folder of the built products: where the test program itself lies.
    package static var directory: URL {
        Bundle.main.executableURL?.deletingLastPathComponent() ?? URL(fileURLWithPath: ".build/debug")
    }

    /// Runs a program to its end.
    package static func run(
        _ name: String,
        _ arguments: [String],
        environment: [String: String] = [:]
    ) async throws -> Outcome {
        await (try Program(name, arguments, environment: environment)).outcome()
    }

    package var identifier: Int32 { process.withLock { $0.processIdentifier } }

    /// Sends a signal, if the program still runs.
    package func send(_ signal: Int32) {
        process.withLock { if $0.isRunning { kill($0.processIdentifier, signal) } }
    }

    /// What it has written to standard output so far.
    package var output: String { read("output") }

    /// What it has written to standard error so far.
    package var errors: String { read("errors") }

    /// Waits for the end of the program; for one caller, once.
    package func outcome() async -> Outcome {
        var code: Int32 = -1
        for await end in ends { code = end }
        return Outcome(code: code, output: output, errors: errors)
    }

    private func read(_ name: String) -> String {
        let data = try? Data(contentsOf: folder.url.appendingPathComponent(name))
        return String(decoding: data ?? Data(), as: UTF8.self)
    }

    private static func file(_ path: String) throws -> FileHandle {
        try Data().write(to: URL(fileURLWithPath: path))
        return try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    }
}
