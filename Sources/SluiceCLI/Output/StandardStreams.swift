#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

enum StandardStreams {
    /// Opens stdin, stdout and stderr if the caller has closed them. Otherwise the next file or connection would get their number, and output
    /// would go into it.
    static func occupy() {
        for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(descriptor, F_GETFD) == -1 {
            // This is the lowest free number. Writing to it fails, as it would if it were closed.
            _ = open("/dev/null", O_RDONLY)
        }
    }
}
