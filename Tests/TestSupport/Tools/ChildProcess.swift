import Foundation

/// A child process with a pipe to its standard input and from its standard output.
public struct ChildProcess: Sendable {
    public let pid: Int32
    private let input: CInt
    private let output: CInt

    /// Starts a program from PATH in a session of its own.
    public static func start(_ program: String, _ arguments: [String]) throws -> ChildProcess {
        let (inputReader, inputWriter) = try makePipe()
        let (outputReader, outputWriter) = try makePipe()
        defer {
            close(inputReader)
            close(outputWriter)
        }
        let pid = try Spawning.spawn(
            program,
            arguments,
            descriptors: [(inputReader, STDIN_FILENO), (outputWriter, STDOUT_FILENO)],
            isSessionLeader: true
        )
        return ChildProcess(pid: pid, input: inputWriter, output: outputReader)
    }

    /// Reads one line of the output, without the line end.
    public func readLine() -> String {
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while read(output, &byte, 1) == 1, byte != 10 { line.append(byte) }
        return String(decoding: line, as: UTF8.self)
    }

    /// Reads the whole output until the program closes it.
    public func readAll() -> String {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while case let count = read(output, &chunk, chunk.count), count > 0 { bytes += chunk[..<count] }
        return String(decoding: bytes, as: UTF8.self)
    }

    public func write(_ text: String) {
        _ = Array(text.utf8).withUnsafeBytes { Foundation.write(input, $0.baseAddress, $0.count) }
    }

    /// Closes the pipes and waits for the end of the program.
    /// - Returns: the exit status, or 128 + the signal that ended the program.
    @discardableResult
    public func finish() -> Int32 {
        close(input)
        defer { close(output) }
        return Spawning.collect(pid)
    }

    private static func makePipe() throws -> (reader: CInt, writer: CInt) {
        var ends: [CInt] = [0, 0]
        guard pipe(&ends) == 0 else { throw CommandFailed(description: "no pipe: \(String(cString: strerror(errno)))") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }
}
