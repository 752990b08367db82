#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

enum StandardStreams {
    /// Opens those of stdin, stdout and stderr that the caller has closed. Otherwise the next file or connection gets their number, and
    /// output goes into it.
    static func occupy() {
        for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(descriptor, F_GETFD) == -1 {
            // The lowest free number is this one. What is written to stdout or stderr fails, as it would without this.
            _ = open("/dev/null", O_RDONLY)
        }
    }
}
