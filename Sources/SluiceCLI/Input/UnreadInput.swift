import Glibc

/// Detects data on stdin that a command does not read, to warn about the loss.
enum UnreadInput {
    /// Whether stdin has data right now. Never waits. An idle pipe of cron, ssh or a CI runner has no data; neither has
    /// /dev/null or a terminal.
    static var isThere: Bool {
        var state = stat()
        guard fstat(STDIN_FILENO, &state) == 0 else { return false }
        switch state.st_mode & S_IFMT {
        case S_IFREG: return lseek(STDIN_FILENO, 0, SEEK_CUR) < state.st_size
        case S_IFIFO, S_IFSOCK:
            var count: Int32 = 0
            return ioctl(STDIN_FILENO, UInt(FIONREAD), &count) == 0 && count > 0
        default: return false
        }
    }

    /// Warns if stdin has unread data.
    ///
    /// - Returns: whether a warning was printed.
    static func warn(_ console: Console) -> Bool {
        guard !console.quiet, isThere else { return false }
        console.warn("stdin has data that the program will not read: pass it with --stdin - (or use </dev/null)")
        return true
    }
}
