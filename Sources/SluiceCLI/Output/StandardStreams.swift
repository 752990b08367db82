#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

enum StandardStreams {
    /// Opens stdin, stdout and stderr if the caller has closed them. Otherwise the next file or connection would get
    /// the free number, and output would go into that.
    static func occupy() {
        for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(descriptor, F_GETFD) == -1 {
            // The call returns the lowest free number, which is this descriptor. Writes to it fail, as they would on a
            // closed one.
            _ = open("/dev/null", O_RDONLY)
        }
    }
}
