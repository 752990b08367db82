import Glibc

/// The place of a file: its path after following links, and the existing file.
struct FilePlace: Sendable {
    /// The given path.
    let target: String
    /// The path after following links.
    let path: String
    /// The existing file; nil = none.
    private let found: stat?

    var isNew: Bool { found == nil }

    /// Examines a path.
    ///
    /// - Throws: `TransferFailure` if the path is not a regular file, or cannot be examined.
    init(_ target: String) throws {
        self.target = target
        path = try Self.follow(target)
        var seen = stat()
        var own = stat()
        guard stat(target, &seen) == 0 else {
            guard errno == ENOENT, lstat(path, &own) != 0 else { throw TransferFailure(file: target, "look at", errno) }
            found = nil
            return
        }
        guard seen.st_mode & S_IFMT == S_IFREG else { throw TransferFailure(file: target, is: Self.kind(seen.st_mode)) }
        // Links under /proc may lead to files without a name, or with another one.
        guard lstat(path, &own) == 0, own.st_dev == seen.st_dev, own.st_ino == seen.st_ino else {
            throw TransferFailure(file: target, is: "a file without a name")
        }
        found = seen
    }

    /// Gives an open file the owner and mode of the existing file. Only root may change the owner.
    func dress(_ descriptor: Int32) throws {
        guard let found else { return }
        var state = stat()
        guard fstat(descriptor, &state) == 0 else { throw failure("look at", errno) }
        if state.st_uid != found.st_uid || state.st_gid != found.st_gid {
            guard fchown(descriptor, found.st_uid, found.st_gid) == 0 else { throw failure("keep the owner of", errno) }
        }
        // Set the mode after the owner, because a change of the owner clears some bits of the mode.
        guard fchmod(descriptor, found.st_mode & 0o7777) == 0 else { throw failure("keep the mode of", errno) }
    }

    /// Returns this place if its path is unchanged; else throws.
    func expect(at path: String) throws -> FilePlace {
        guard path == self.path else { throw TransferFailure(file: target, is: "another file than before") }
        return self
    }

    /// The folder of the file.
    var folder: String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Returns the path of a hidden file in the same folder. A name has at most 255 bytes, and a scalar at most four.
    func neighbour(_ ending: String) -> String {
        let name = path.lastIndex(of: "/").map { path[path.index(after: $0)...] } ?? path[...]
        let start = String(String.UnicodeScalarView(name.unicodeScalars.prefix(25)))
        return "\(folder)/.\(start)\(ending)"
    }

    func failure(_ step: String, _ code: Int32) -> TransferFailure { TransferFailure(file: target, step, code) }

    /// Follows links to their end.
    private static func follow(_ target: String) throws -> String {
        var path = target
        for _ in 0..<40 {
            var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX))
            let count = bytes.withUnsafeMutableBytes { readlink(path, $0.baseAddress!, $0.count) }
            guard count > 0 else { return path }
            let link = String(decoding: bytes[..<count], as: UTF8.self)
            let folder = path.lastIndex(of: "/").map { path[...$0] } ?? ""
            path = link.hasPrefix("/") ? link : folder + link
        }
        throw TransferFailure(file: target, "look at", ELOOP)
    }

    private static func kind(_ mode: mode_t) -> String {
        switch mode & S_IFMT {
        case S_IFDIR: "a folder"
        case S_IFIFO: "a pipe (FIFO)"
        case S_IFSOCK: "a socket"
        case S_IFCHR, S_IFBLK: "a device"
        default: "something else"
        }
    }
}
