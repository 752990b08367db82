import Foundation

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

/// Makes an empty folder with a short path (sockets allow 107 bytes).
package func makeTemporaryFolder() throws -> String {
    var template = Array("/tmp/sluice-test-XXXXXX".utf8CString)
    let made = template.withUnsafeMutableBufferPointer { $0.baseAddress.flatMap { mkdtemp($0) } }
    guard let made else { throw CommandFailed(description: "mkdtemp failed: \(String(cString: strerror(errno)))") }
    return String(cString: made)
}
