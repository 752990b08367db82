import Foundation

/// A pipe that shows workers the end of their supervisor, for any cause. Workers read from the pipe; the supervisor
/// never writes.
package enum ParentWatch {
    /// Makes the pipe.
    ///
    /// - Returns: the end to pass to workers. The other end closes with this process.
    /// - Throws: `CLIError` if no descriptors are left.
    package static func make() throws(CLIError) -> Int32 {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else {
            throw CLIError(.bug, "cannot create a pipe: \(String(cString: strerror(errno)))")
        }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return ends[0]
    }

    /// Calls a closure when the supervisor has ended. Workers call this.
    static func watch(_ body: @escaping @Sendable () -> Void) {
        let thread = Thread {
            var byte: UInt8 = 0
            var count = 1
            while count > 0 || (count < 0 && errno == EINTR) { count = read(STDIN_FILENO, &byte, 1) }
            body()
        }
        thread.name = "sluice.parent-watch"
        thread.stackSize = 128 << 10
        thread.start()
    }
}
