import Glibc

/// Guards whose worker was killed, for the supervisor that started the worker.
///
/// A guard ends when its program and all processes that the program started have ended. After all guards of a dead
/// worker have ended, its operations can be recovered, and none runs twice at the same time.
package enum OrphanedGuards {
    /// Makes this process the parent of orphaned descendants, in place of the system's first process.
    package static func adopt() { _ = GNUCalls.prctl(GNUCalls.childSubreaper, 1, 0, 0, 0) }

    /// Reaps ended orphans, and waits for guards among them. Blocks the thread.
    ///
    /// - Parameters:
    ///   - sparing: children that other code reaps.
    ///   - milliseconds: the longest time to wait.
    /// - Returns: false if a guard still ran at the end.
    package static func collect(sparing: () -> Set<pid_t>, within milliseconds: Int) -> Bool {
        for _ in 0...milliseconds / pause {
            // Keep this order: the code that starts a child notes it before `sparing` is called here.
            let found = children()
            let known = sparing()
            let waiting = found.filter { pid in
                !known.contains(pid) && waitpid(pid, nil, WNOHANG) == 0 && isGuard(pid)
            }
            if waiting.isEmpty { return true }
            usleep(UInt32(pause * 1000))
        }
        return false
    }

    private static let pause = 5

    private static func isGuard(_ pid: pid_t) -> Bool {
        let words = read("/proc/\(pid)/cmdline").split(separator: 0, omittingEmptySubsequences: false)
        return words.count > 1 && words[1].elementsEqual(ExecGuard.argument.utf8)
    }

    /// Returns the processes whose parent is this one.
    package static func children() -> [pid_t] {
        guard let folder = opendir("/proc") else { return [] }
        defer { closedir(folder) }
        let own = getpid()
        var found: [pid_t] = []
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if let pid = pid_t(name), parent(of: pid) == own { found.append(pid) }
        }
        return found
    }

    /// Returns the parent: the fourth field of `stat`. The second field is a name in parentheses that may contain
    /// anything.
    private static func parent(of pid: pid_t) -> pid_t? {
        let bytes = read("/proc/\(pid)/stat")
        guard let end = bytes.lastIndex(of: UInt8(ascii: ")")) else { return nil }
        let fields = bytes[(end + 1)...].split(separator: UInt8(ascii: " "))
        return fields.count > 1 ? pid_t(String(decoding: fields[1], as: UTF8.self)) : nil
    }

    /// Returns the beginning of a file.
    private static func read(_ path: String) -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return [] }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 512)
        let count = Glibc.read(descriptor, &bytes, bytes.count)
        return Array(bytes.prefix(max(0, count)))
    }
}
