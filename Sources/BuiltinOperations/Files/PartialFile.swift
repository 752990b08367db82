import Dispatch
import Foundation
import Glibc
import Synchronization

/// A file that takes its name when it is complete. Until then the file has another name in the same folder.
///
/// Only a regular file is replaced, not a pipe, socket, device or folder. Links are followed, and the new file has the
/// mode and owner of the replaced one.
package final class PartialFile: Sendable {
    private let place: FilePlace
    private let path: String
    /// The descriptor; nil = closed.
    private let descriptor: Mutex<Int32?>

    /// Makes the file in the folder of the target.
    ///
    /// - Parameters:
    ///   - target: the final path.
    ///   - mark: distinguishes this attempt from others for the same target.
    /// - Throws: `TransferFailure` if the folder does not exist, the target is not a regular file, or its owner cannot
    ///   be kept.
    package init(target: String, mark: String) throws {
        place = try FilePlace(target)
        // The name is random and the file new: another user could put a pipe or a link at a predictable name.
        path = place.neighbour(".\(mark)-\(UInt32.random(in: 0...UInt32.max)).part")
        let opened = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, place.isNew ? 0o644 : 0o600)
        guard opened >= 0 else { throw place.failure("create a file beside", errno) }
        descriptor = Mutex(opened)
        do { try place.dress(opened) } catch {
            discard()
            throw error
        }
    }

    /// Replaces a file by the given bytes atomically, without waiting for the disk.
    ///
    /// - Throws: as `init`, and `TransferFailure` if writing fails.
    package static func replace(_ target: String, with bytes: [UInt8]) throws {
        let file = try PartialFile(target: target, mark: "\(getpid())")
        defer { file.discard() }
        try bytes.withUnsafeBytes { try file.write($0) }
        try file.keepBlocking(isDurable: false)
    }

    /// Removes the regular file that `replace` wrote. Links and other kinds of files stay.
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

    /// Writes the file to disk and gives it its name. Not on the cooperative pool, because the disk may be slow.
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
        // A download takes time, and another file may be at the path by now.
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

    /// Removes the file, unless `keep` was called.
    package func discard() {
        descriptor.withLock { descriptor in
            if let descriptor { close(descriptor) }
            descriptor = nil
        }
        unlink(path)
    }
}
