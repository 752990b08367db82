import Foundation
import Synchronization

/// A program that a test needed and that failed.
package struct CommandFailed: Error, CustomStringConvertible {
    package let description: String
}

/// Runs a program to its end.
/// - Returns: what it wrote to standard output and standard error.
/// - Throws: ``CommandFailed`` with that text when it exits with another status than 0.
@discardableResult
package func run(_ program: String, _ arguments: [String]) throws -> String {
    let child = try ChildProcess.start("sh", ["-c", "exec \"$@\" 2>&1 </dev/null", "sh", program] + arguments)
    let text = child.readAll()
    let status = child.finish()
    guard status == 0 else { throw CommandFailed(description: "\(program) exited with \(status): \(text)") }
    return text
}

/// Makes an empty folder with a short path (sockets allow 107 bytes). It goes with the test process.
package func makeTemporaryFolder() throws -> String {
    try TemporaryFolders.shared.get().make()
}

/// The folders of this process, all in one that a watchdog removes when the process ends, however that happens.
private final class TemporaryFolders: Sendable {
    static let shared = Result { try TemporaryFolders() }

    private let base: String
    private let count = Atomic<Int>(0)
    /// Its input is never written to: it closes with this process.
    private let watchdog: ChildProcess

    private init() throws {
        var template = Array("/tmp/sluice-test-XXXXXX".utf8CString)
        let made = template.withUnsafeMutableBufferPointer { $0.baseAddress.flatMap { mkdtemp($0) } }
        guard let made else { throw CommandFailed(description: "mkdtemp failed: \(String(cString: strerror(errno)))") }
        base = String(cString: made)
        watchdog = try ChildProcess.start("sh", ["-c", "trap '' INT HUP TERM; read -r _; rm -rf \"$1\"", "sh", base])
    }

    func make() throws -> String {
        let folder = "\(base)/\(count.add(1, ordering: .relaxed).newValue)"
        guard mkdir(folder, 0o700) == 0 else {
            throw CommandFailed(description: "cannot make \(folder): \(String(cString: strerror(errno)))")
        }
        return folder
    }
}
