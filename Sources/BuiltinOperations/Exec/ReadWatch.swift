import Foundation
import Glibc
import Synchronization

/// Calls back when descriptors have bytes to read, with one thread that polls all of them.
///
/// Not Dispatch's read sources: on Linux, starting and cancelling many of them at once corrupts Dispatch's state, and
/// the process crashes in `_dispatch_event_loop_drain` (github.com/swiftlang/swift-corelibs-libdispatch/issues/949).
/// Here nothing stays registered with the kernel.
final class ReadWatch: Sendable {
    /// The watch of this process; nil before its first use.
    private static let made = Mutex<ReadWatch?>(nil)
    /// The closures to call once, by descriptor.
    private let interests = Mutex<[Int32: @Sendable () -> Void]>([:])
    /// A byte in this pipe makes the thread read the interests again.
    private let wake: (reader: Int32, writer: Int32)

    private init() throws {
        var ends: [Int32] = [0, 0]
        guard GNUCalls.pipe2(&ends, O_CLOEXEC | O_NONBLOCK) == 0 else { throw ExecFailure(starting: "a pipe", errno) }
        wake = (ends[0], ends[1])
    }

    /// - Throws: `ExecFailure` if no descriptor is free.
    static func shared() throws -> ReadWatch {
        try made.withLock { made in
            if let made { return made }
            let watch = try ReadWatch()
            let thread = Thread { watch.run() }
            thread.name = "sluice.pipes"
            thread.start()
            made = watch
            return watch
        }
    }

    /// Calls a closure once when bytes or the end can be read.
    ///
    /// The call may come without a reason if the descriptor's number had another owner before. The closure must not
    /// block, because others use the same thread.
    func whenReadable(_ descriptor: Int32, _ call: @escaping @Sendable () -> Void) {
        interests.withLock { $0[descriptor] = call }
        wakeUp()
    }

    /// Drops a descriptor. Call this before you close the descriptor, because its number may be reused.
    func forget(_ descriptor: Int32) {
        _ = interests.withLock { $0.removeValue(forKey: descriptor) }
    }

    /// Wakes the thread. If the pipe is full, the thread wakes anyway.
    private func wakeUp() {
        var byte: UInt8 = 0
        while write(wake.writer, &byte, 1) < 0, errno == EINTR {}
    }

    private func run() -> Never {
        while true {
            let watched = interests.withLock { Array($0.keys) }
            var polled = ([wake.reader] + watched).map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            guard poll(&polled, nfds_t(polled.count), -1) > 0 else { continue }
            let ready = polled.filter { $0.revents != 0 }.map(\.fd)
            if ready.first == wake.reader { drain() }
            for descriptor in ready.drop(while: { $0 == wake.reader }) {
                interests.withLock { $0.removeValue(forKey: descriptor) }?()
            }
        }
    }

    private func drain() {
        var bytes = [UInt8](repeating: 0, count: 512)
        while read(wake.reader, &bytes, bytes.count) > 0 {}
    }
}
