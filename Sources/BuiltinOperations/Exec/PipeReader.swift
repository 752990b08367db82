import Dispatch
import Glibc
import Operations
import Synchronization

/// Reads a pipe until its end without blocking a thread.
final class PipeReader: Sendable {
    private struct State {
        var isCut = false
        /// Whether the descriptor is closed, so that its number may be reused.
        var isClosed = false
        var hasEnded = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())
    private let isStopped = Atomic(false)
    /// The queue on which the pipe is read and closed.
    private let queue = DispatchQueue(label: "sluice.lines")
    private let watch: ReadWatch
    private let descriptor: Int32
    private let onBytes: @Sendable (ArraySlice<UInt8>) -> Void
    private let onEnd: @Sendable () -> Void

    /// - Parameters:
    ///   - descriptor: the read end, which the reader closes at the end.
    ///   - watch: calls back when bytes can be read. Keeps this object alive until the end.
    ///   - onBytes: called with the bytes, one call after the other.
    ///   - onEnd: called once, after the last bytes.
    init(
        _ descriptor: Int32,
        _ watch: ReadWatch,
        onBytes: @escaping @Sendable (ArraySlice<UInt8>) -> Void,
        onEnd: @escaping @Sendable () -> Void = {}
    ) {
        self.descriptor = descriptor
        self.watch = watch
        self.onBytes = onBytes
        self.onEnd = onEnd
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        awaitMore()
    }

    /// Reads lines.
    ///
    /// - Parameters:
    ///   - descriptor: the read end, which the reader closes at the end.
    ///   - watch: calls back when bytes can be read.
    ///   - limit: longer lines are split into pieces between characters; all but the last piece end with "…".
    ///   - onLine: called for each line, without its newline.
    convenience init(
        _ descriptor: Int32,
        _ watch: ReadWatch,
        limit: Int = SluiceDefaults.logLineBytes,
        onLine: @escaping @Sendable (String) -> Void
    ) {
        let splitter = LineSplitter(limit: limit, onLine: onLine)
        self.init(descriptor, watch, onBytes: splitter.take, onEnd: splitter.end)
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

    /// Stops reading.
    func stop() {
        isStopped.store(true, ordering: .relaxed)
        queue.async { [self] in end(isCut: true) }
    }

    /// Whether the reader was stopped before the end of the pipe.
    var isCut: Bool { state.withLock { $0.isCut } }

    private static let chunk = 64 << 10

    private func awaitMore() {
        watch.whenReadable(descriptor) { [self] in
            queue.async { [self] in readAvailable() }
        }
    }

    private func readAvailable() {
        guard !state.withLock({ $0.isClosed }) else { return }
        var bytes = [UInt8](repeating: 0, count: Self.chunk)
        // A process that writes without a pause must not delay a stop.
        while !isStopped.load(ordering: .relaxed) {
            let count = read(descriptor, &bytes, bytes.count)
            if count > 0 {
                onBytes(bytes[..<count])
            } else if count == 0 || (errno != EINTR && errno != EAGAIN) {
                return end()
            } else if errno == EAGAIN {
                return awaitMore()
            }
        }
    }

    /// Closes the descriptor on the queue, so that no read runs. The watch drops the number first, because another
    /// descriptor may take it after the close.
    private func end(isCut: Bool = false) {
        let isFirst = state.withLock { state in
            guard !state.isClosed else { return false }
            (state.isClosed, state.isCut) = (true, isCut)
            return true
        }
        guard isFirst else { return }
        watch.forget(descriptor)
        close(descriptor)
        onEnd()
        let waiter = state.withLock { state in
            defer {
                state.hasEnded = true
                state.waiter = nil
            }
            return state.waiter
        }
        waiter?.resume()
    }
}

/// Splits bytes into lines. A line of more than `limit` bytes is split into pieces, all but the last one with "…" at
/// the end.
final class LineSplitter: Sendable {
    private let rest = Mutex<[UInt8]>([])
    private let limit: Int
    private let onLine: @Sendable (String) -> Void

    init(limit: Int, onLine: @escaping @Sendable (String) -> Void) {
        self.limit = limit
        self.onLine = onLine
    }

    func take(_ bytes: ArraySlice<UInt8>) {
        let lines = rest.withLock { rest -> [String] in
            rest += bytes
            var lines: [String] = []
            var start = 0
            var index = max(0, rest.count - bytes.count)
            while index < rest.count {
                if rest[index] == UInt8(ascii: "\n") {
                    lines.append(String(decoding: rest[start..<index], as: UTF8.self))
                    start = index + 1
                } else if index - start == limit {
                    let piece = pieceCount(rest[start...index])
                    lines.append(String(decoding: rest[start..<start + piece], as: UTF8.self) + TextCut.mark)
                    start += piece
                }
                index += 1
            }
            rest.removeFirst(start)
            return lines
        }
        for line in lines { onLine(line) }
    }

    /// Returns the size of the next piece of a line that is too long.
    private func pieceCount(_ line: ArraySlice<UInt8>) -> Int {
        max(1, TextCut.wholeCharacters(in: line, limit: limit - TextCut.mark.utf8.count))
    }

    /// Delivers the text after the last newline.
    func end() {
        let last = rest.withLock { rest in
            defer { rest = [] }
            return rest
        }
        if !last.isEmpty { onLine(String(decoding: last, as: UTF8.self)) }
    }
}
