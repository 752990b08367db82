import Dispatch
import Glibc
import Operations
import Synchronization

/// Reads lines from a pipe until its end, without blocking a thread, and hands them on as they come.
final class LineReader: Sendable {
    private struct State {
        var rest: [UInt8] = []
        var hasEnded = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())
    /// Unsafe only to the compiler: Dispatch's sources may be used from any thread.
    private nonisolated(unsafe) let source: any DispatchSourceRead
    private let descriptor: Int32
    private let onLine: @Sendable (String) -> Void

    /// - Parameters:
    ///   - descriptor: the read end; it is closed at the end.
    ///   - onLine: called for each line, without its newline; lines beyond the log's limit come in pieces.
    init(_ descriptor: Int32, onLine: @escaping @Sendable (String) -> Void) {
        self.descriptor = descriptor
        self.onLine = onLine
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: DispatchQueue(label: "sluice.lines"))
        source.setEventHandler { [weak self] in self?.readAvailable() }
        source.setCancelHandler { [weak self] in
            close(descriptor)
            self?.end()
        }
        source.activate()
    }

    /// Waits for the end of the pipe.
    func waitForEnd() async {
        await withCheckedContinuation { continuation in
            let hasEnded = state.withLock { state in
                if !state.hasEnded { state.waiter = continuation }
                return state.hasEnded
            }
            if hasEnded { continuation.resume() }
        }
    }

    /// Stops reading, whatever is still to come.
    func stop() { source.cancel() }

    private static let chunk = 64 << 10

    /// Reads until nothing is left: when the other end is closed, Dispatch tells of data and end at once, and only once.
    private func readAvailable() {
        var bytes = [UInt8](repeating: 0, count: Self.chunk)
        // Somebody who writes without a pause must not keep a stop from being seen.
        while !source.isCancelled {
            let count = read(descriptor, &bytes, bytes.count)
            if count > 0 {
                take(bytes[..<count])
            } else if count < 0, errno == EINTR {
                continue
            } else {
                if count == 0 || errno != EAGAIN { source.cancel() }
                return
            }
        }
    }

    private func take(_ bytes: ArraySlice<UInt8>) {
        let lines = state.withLock { state -> [[UInt8]] in
            state.rest += bytes
            var lines: [[UInt8]] = []
            var start = 0
            for (index, byte) in state.rest.enumerated() {
                if byte == UInt8(ascii: "\n") {
                    lines.append(Array(state.rest[start..<index]))
                    start = index + 1
                } else if index - start == Defaults.logLineBytes - 1 {
                    lines.append(Array(state.rest[start...index]))
                    start = index + 1
                }
            }
            state.rest.removeFirst(start)
            return lines
        }
        for line in lines { onLine(String(decoding: line, as: UTF8.self)) }
    }

    private func end() {
        let (rest, waiter) = state.withLock { state in
            defer {
                state.hasEnded = true
                state.waiter = nil
                state.rest = []
            }
            return (state.rest, state.waiter)
        }
        if !rest.isEmpty { onLine(String(decoding: rest, as: UTF8.self)) }
        waiter?.resume()
    }
}
