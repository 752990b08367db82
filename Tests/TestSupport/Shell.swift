import Foundation

/// A program that a test needed and that failed.
package struct CommandFailed: Error, CustomStringConvertible {
    package let description: String
}

/// Runs a program to its end.
/// - Returns: what it wrote to standard output.
/// - Throws: ``CommandFailed`` with its standard error when it exits with another status than 0.
@discardableResult
package func run(_ program: String, _ arguments: [String]) throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [program] + arguments
    let output = Pipe()
    let errors = Pipe()
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    process.standardError = errors
    try process.run()
    let text = output.fileHandleForReading.readDataToEndOfFile()
    let complaint = errors.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
        let words = String(decoding: complaint, as: UTF8.self)
        throw CommandFailed(description: "\(program) exited with \(process.terminationStatus): \(words)")
    }
    return String(decoding: text, as: UTF8.self)
}

/// Makes an empty folder with a short path (sockets allow 107 bytes).
package func makeTemporaryFolder() throws -> String {
    var template = Array("/tmp/sluice-test-XXXXXX".utf8CString)
    let made = template.withUnsafeMutableBufferPointer { $0.baseAddress.flatMap { mkdtemp($0) } }
    guard let made else { throw CommandFailed(description: "mkdtemp failed: \(String(cString: strerror(errno)))") }
    return String(cString: made)
}
