import Foundation

/// A child process with a pipe to its standard input and from its standard output.
///
/// Not Foundation's `Process`: that lets a child inherit the sockets by which it waits for other children, so that with
/// many children at once a wait may last until an unrelated one ends.
package struct ChildProcess: Sendable {
    package let pid: Int32
    private let input: CInt
    private let output: CInt

    /// Starts a program of PATH in a session of its own.
    package static func start(_ program: String, _ arguments: [String]) throws -> ChildProcess {
        let (inputReader, inputWriter) = try makePipe()
        let (outputReader, outputWriter) = try makePipe()
        defer {
            close(inputReader)
            close(outputWriter)
        }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, inputReader, STDIN_FILENO)
        posix_spawn_file_actions_adddup2(&actions, outputWriter, STDOUT_FILENO)
        for descriptor in openDescriptors() where descriptor > STDERR_FILENO {
            posix_spawn_file_actions_addclose(&actions, descriptor)
        }
        let pid = try spawn(program, arguments, &actions)
        return ChildProcess(pid: pid, input: inputWriter, output: outputReader)
    }

    /// One line of its output, without the line end.
    package func readLine() -> String {
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while read(output, &byte, 1) == 1, byte != 10 { line.append(byte) }
        return String(decoding: line, as: UTF8.self)
    }

    /// Everything that it writes until it closes its output.
    package func readAll() -> String {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while case let count = read(output, &chunk, chunk.count), count > 0 { bytes += chunk[..<count] }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Closes the pipes and waits for its end.
    /// - Returns: its exit status, or 128 + the signal that ended it.
    @discardableResult
    package func finish() -> Int32 {
        close(input)
        defer { close(output) }
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        return status & 0x7f == 0 ? (status >> 8) & 0xff : 128 + (status & 0x7f)
    }

    private static func makePipe() throws -> (reader: CInt, writer: CInt) {
        var ends: [CInt] = [0, 0]
        guard pipe(&ends) == 0 else { throw CommandFailed(description: "no pipe: \(String(cString: strerror(errno)))") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }

    private static func openDescriptors() -> [CInt] {
        let folder = FileManager.default.fileExists(atPath: "/proc/self/fd") ? "/proc/self/fd" : "/dev/fd"
        return ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).compactMap { CInt($0) }
    }

    private static func spawn(
        _ program: String,
        _ arguments: [String],
        _ actions: inout posix_spawn_file_actions_t
    ) throws -> pid_t {
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // Threads of Dispatch block signals; a shell that inherits that waits for ever for its own children.
        var noSignals = sigset_t()
        sigemptyset(&noSignals)
        posix_spawnattr_setsigmask(&attributes, &noSignals)
        // POSIX_SPAWN_SETSID (0x80): Ctrl-C of the test run ends only the test process, the pipes do the rest.
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK) | 0x80)
        let words = ([program] + arguments).map { strdup($0) }
        defer { for word in words { free(word) } }
        var pid: pid_t = 0
        let status = posix_spawnp(&pid, program, &actions, &attributes, words + [nil], environ)
        guard status == 0 else {
            throw CommandFailed(description: "cannot run \(program): \(String(cString: strerror(status)))")
        }
        return pid
    }
}
