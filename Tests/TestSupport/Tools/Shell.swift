import Foundation
import Synchronization

/// The failure of a program that a test needs.
public struct CommandFailed: Error, CustomStringConvertible {
    public let description: String

    public init(description: String) { self.description = description }
}

/// Runs a program to its end.
/// - Returns: the text of standard output and standard error.
/// - Throws: ``CommandFailed`` with that text if the exit status is not 0.
@discardableResult
public func run(_ program: String, _ arguments: [String]) throws -> String {
    let child = try ChildProcess.start("sh", ["-c", "exec \"$@\" 2>&1 </dev/null", "sh", program] + arguments)
    let text = child.readAll()
    let status = child.finish()
    guard status == 0 else { throw CommandFailed(description: "\(program) exited with \(status): \(text)") }
    return text
}

/// Makes an empty folder with a short path, because sockets allow 107 bytes. The folder is removed with the test
/// process.
public func makeTemporaryFolder() throws -> String {
    try TemporaryFolders.shared.get().make()
}

/// The temporary folders of this process. A watchdog removes all of them when the process ends, even after a crash.
private final class TemporaryFolders: Sendable {
    static let shared = Result { try TemporaryFolders() }

    private let base: String
    private let count = Atomic<Int>(0)
    /// The watchdog shell. Nothing is written to its input, which closes with this process.
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
