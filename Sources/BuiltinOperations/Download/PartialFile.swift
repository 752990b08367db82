import Dispatch
import Foundation
import Glibc
import Synchronization

/// A file that appears under its name only when it is complete. Until then it lies beside its place, under a name of its own.
final class PartialFile: Sendable {
    private let target: String
    private let path: String
    /// nil = closed.
    private let descriptor: Mutex<Int32?>

    /// - Parameters:
    ///   - target: where the file is to appear.
    ///   - mark: distinguishes this try from others for the same target.
    /// - Throws: `TransferFailure` if there is no such folder, or the target is a folder.
    init(target: String, mark: String) throws {
        let url = URL(filePath: target)
        self.target = target
        path =
            url.deletingLastPathComponent().appending(path: ".\(url.lastPathComponent.prefix(100)).\(mark).part").path
        var state = stat()
        if stat(target, &state) == 0, state.st_mode & S_IFMT == S_IFDIR {
            throw TransferFailure(writing: target, EISDIR)
        }
        let opened = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o644)
        guard opened >= 0 else { throw TransferFailure(writing: target, errno) }
        descriptor = Mutex(opened)
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws {
        guard let descriptor = descriptor.withLock({ $0 }) else { throw TransferFailure(writing: target, EBADF) }
        var rest = bytes
        while !rest.isEmpty {
            let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
            if count < 0 {
                if errno == EINTR { continue }
                throw TransferFailure(writing: target, errno)
            }
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
        }
    }

    /// Makes it durable and gives it its name. The disk may take its time, so this does not happen on the cooperative pool.
    func keep() async throws {
        try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
            DispatchQueue.global().async { [self] in
                done.resume(with: Result { try keepBlocking() })
            }
        }
    }

    private func keepBlocking() throws {
        let descriptor = descriptor.withLock { descriptor in
            defer { descriptor = nil }
            return descriptor
        }
        guard let descriptor else { throw TransferFailure(writing: target, EBADF) }
        let isSynced = fsync(descriptor) == 0
        let syncError = errno
        close(descriptor)
        guard isSynced else { throw TransferFailure(writing: target, syncError) }
        guard rename(path, target) == 0 else { throw TransferFailure(writing: target, errno) }
        let folder = open(URL(filePath: target).deletingLastPathComponent().path, O_RDONLY | O_CLOEXEC)
        if folder >= 0 {
            fsync(folder)
            close(folder)
        }
    }

    /// Removes what was not kept; nothing after `keep`.
    func discard() {
        descriptor.withLock { descriptor in
            if let descriptor { close(descriptor) }
            descriptor = nil
        }
        unlink(path)
    }
}
