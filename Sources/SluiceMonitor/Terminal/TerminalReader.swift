import Foundation
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The thread that waits for keys and signals.
///
/// Waiting blocks a thread. A separate one handles keys while the rest of the process is busy.
final class TerminalReader: Sendable {
    /// The time to wait for the rest of a sequence after an escape byte.
    private static let escapeMilliseconds: Int32 = 40

    private let input: Int32
    private let signals: TerminalSignals
    private let events: AsyncStream<TerminalEvent>.Continuation
    private let isRunning = Mutex(false)

    init(input: Int32, signals: TerminalSignals, events: AsyncStream<TerminalEvent>.Continuation) {
        self.input = input
        self.signals = signals
        self.events = events
    }

    /// Starts to read. If the thread reads already, handles the signal of Ctrl-Z again.
    func start() {
        guard isRunning.withLock({ $0.set(true) }) else { return signals.continueJob() }
        signals.install()
        let thread = Thread { [self] in read() }
        thread.name = "terminal"
        thread.start()
    }

    func stop() {
        guard isRunning.withLock({ $0.set(false) }) else { return }
        signals.restore()
        signals.wake()
    }

    /// Stops the process. Returns when the process continues, or soon if no shell controls the job.
    func suspendProcess() {
        signals.stopJob()
        // The kernel ignores the stop if no shell controls the job. The screen is then taken over again at once.
        // Otherwise this pause ends after the process continues.
        usleep(50_000)
        events.yield(.continued)
    }

    private func read() {
        var decoder = KeyDecoder()
        while isRunning.withLock({ $0 }) {
            var waiting = [
                pollfd(fd: input, events: Int16(POLLIN), revents: 0),
                pollfd(fd: signals.readEnd, events: Int16(POLLIN), revents: 0),
            ]
            let count = poll(&waiting, nfds_t(waiting.count), decoder.isWaiting ? Self.escapeMilliseconds : -1)
            if count == 0 { deliver(decoder.flush()) }
            guard count > 0 else { continue }
            if waiting[1].revents != 0 { forwardSignals() }
            if waiting[0].revents != 0 {
                guard let bytes = available(input) else { break }
                deliver(decoder.decode(bytes))
            }
        }
        events.yield(.closed)
        events.finish()
    }

    private func deliver(_ keys: [Key]) {
        if !keys.isEmpty { events.yield(.keys(keys)) }
    }

    private func forwardSignals() {
        for byte in available(signals.readEnd) ?? [] {
            switch Int32(byte) {
            case 0: break
            case SIGWINCH: events.yield(.resized)
            case SIGCONT: events.yield(.continued)
            case SIGTSTP: events.yield(.keys([.control("z")]))
            case let signal: events.yield(.signal(signal))
            }
        }
    }

    /// - Returns: the available bytes; nil at the end of the input.
    private func available(_ descriptor: Int32) -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: 1_024)
        let count = bytesRead(descriptor, &buffer)
        if count < 0 { return errno == EINTR || errno == EAGAIN ? [] : nil }
        return count == 0 ? nil : Array(buffer.prefix(count))
    }

    private func bytesRead(_ descriptor: Int32, _ buffer: inout [UInt8]) -> Int {
        #if canImport(Glibc)
            Glibc.read(descriptor, &buffer, buffer.count)
        #elseif canImport(Musl)
            Musl.read(descriptor, &buffer, buffer.count)
        #else
            Darwin.read(descriptor, &buffer, buffer.count)
        #endif
    }
}

extension Bool {
    /// - Returns: whether the value has changed.
    mutating func set(_ value: Bool) -> Bool {
        defer { self = value }
        return self != value
    }
}
