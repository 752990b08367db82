import Dispatch
import Foundation
import Glibc
import Synchronization

/// A file that appears under its name only when it is complete. Until then it lies beside its place, under a name of its own.
///
/// Only a regular file is replaced: a pipe, a socket, a device or a folder is refused. Links are followed, and the new file has the
/// mode and the owner of the one that it replaces.
package final class PartialFile: Sendable {
    private let place: FilePlace
    private let path: String
    /// nil = closed.
    private let descriptor: Mutex<Int32?>

    /// Makes the file beside its place.
    ///
    /// - Parameters:
    ///   - target: where the file is to appear.
    ///   - mark: distinguishes this try from others for the same target.
    /// - Throws: `TransferFailure` if there is no such folder, the target is no regular file, or its owner cannot be kept.
    package init(target: String, mark: String) throws {
        place = try FilePlace(target)
        // Never a file that is there: a stranger could have put a pipe or a link at a name that can be guessed.
        path = place.neighbour(".\(mark)-\(UInt32.random(in: 0...UInt32.max)).part")
        let opened = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, place.isNew ? 0o644 : 0o600)
        guard opened >= 0 else { throw place.failure("create a file beside", errno) }
        descriptor = Mutex(opened)
        do { try place.dress(opened) } catch {
            discard()
            throw error
        }
    }

    /// Replaces a file by the given bytes, as a whole or not at all, without waiting for the disk.
    ///
    /// - Throws: as `init`, and `TransferFailure` if writing fails.
    package static func replace(_ target: String, with bytes: [UInt8]) throws {
        let file = try PartialFile(target: target, mark: "\(getpid())")
        defer { file.discard() }
        try bytes.withUnsafeBytes { try file.write($0) }
        try file.keepBlocking(isDurable: false)
    }

    /// Removes the regular file that `replace` has written. A link to it stays, and what is no regular file, too.
    package static func remove(_ target: String) {
        if let place = try? FilePlace(target), !place.isNew { unlink(place.path) }
    }

    package func write(_ bytes: UnsafeRawBufferPointer) throws {
        guard let descriptor = descriptor.withLock({ $0 }) else { throw place.failure("write", EBADF) }
        var rest = bytes
        while !rest.isEmpty {
            let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
            if count < 0 {
                if errno == EINTR { continue }
                throw place.failure("write", errno)
            }
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
        }
    }

    /// Makes it durable and gives it its name. The disk may take its time, so this does not happen on the cooperative pool.
    package func keep() async throws {
        try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
            DispatchQueue.global().async { [self] in
                done.resume(with: Result { try keepBlocking(isDurable: true) })
            }
        }
    }

    private func keepBlocking(isDurable: Bool) throws {
        let descriptor = descriptor.withLock { descriptor in
            defer { descriptor = nil }
            return descriptor
        }
        guard let descriptor else { throw place.failure("write", EBADF) }
        defer { close(descriptor) }
        // A download takes its time: by now something else may be there.
        try FilePlace(place.target).expect(at: place.path).dress(descriptor)
        guard !isDurable || fsync(descriptor) == 0 else { throw place.failure("write", errno) }
        guard rename(path, place.path) == 0 else { throw place.failure("replace", errno) }
        guard isDurable else { return }
        let folder = open(place.folder, O_RDONLY | O_CLOEXEC)
        if folder >= 0 {
            fsync(folder)
            close(folder)
        }
    }

    /// Removes what was not kept; nothing after `keep`.
    package func discard() {
        descriptor.withLock { descriptor in
            if let descriptor { close(descriptor) }
            descriptor = nil
        }
        unlink(path)
    }
}
