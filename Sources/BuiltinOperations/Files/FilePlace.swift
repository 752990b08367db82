import Glibc

/// Where a file is or is to be: a path whose links have been followed to their end, and what is there.
struct FilePlace: Sendable {
    /// As it was given.
    let target: String
    /// No link itself.
    let path: String
    /// nil = nothing is there.
    private let found: stat?

    var isNew: Bool { found == nil }

    /// Looks at a path.
    ///
    /// - Throws: `TransferFailure` if something is there that is no regular file, or it cannot be looked at.
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
        // Under /proc, links lead to files that have no name, or another one by now.
        guard lstat(path, &own) == 0, own.st_dev == seen.st_dev, own.st_ino == seen.st_ino else {
            throw TransferFailure(file: target, is: "a file without a name")
        }
        found = seen
    }

    /// Gives an open file the owner and mode of what is here. Only root may give a file to another user.
    func dress(_ descriptor: Int32) throws {
        guard let found else { return }
        var state = stat()
        guard fstat(descriptor, &state) == 0 else { throw failure("look at", errno) }
        if state.st_uid != found.st_uid || state.st_gid != found.st_gid {
            guard fchown(descriptor, found.st_uid, found.st_gid) == 0 else { throw failure("keep the owner of", errno) }
        }
        // After the owner: changing that takes some bits of the mode away.
        guard fchmod(descriptor, found.st_mode & 0o7777) == 0 else { throw failure("keep the mode of", errno) }
    }

    /// This place, if it is still the same one.
    func expect(at path: String) throws -> FilePlace {
        guard path == self.path else { throw TransferFailure(file: target, is: "another file than before") }
        return self
    }

    /// The folder that it is in.
    var folder: String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// A hidden file in the same folder. A name may have 255 bytes, and a scalar has four at most.
    func neighbour(_ ending: String) -> String {
        let name = path.lastIndex(of: "/").map { path[path.index(after: $0)...] } ?? path[...]
        let start = String(String.UnicodeScalarView(name.unicodeScalars.prefix(25)))
        return "\(folder)/.\(start)\(ending)"
    }

    func failure(_ step: String, _ code: Int32) -> TransferFailure { TransferFailure(file: target, step, code) }

    /// Reads links until there is none.
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
