import Foundation
import Synchronization
import TerminalText

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// An event of the terminal or the system.
package enum TerminalEvent: Sendable, Equatable {
    case keys([Key])
    /// The size of the window may have changed.
    case resized
    /// The process continues after a stop. The screen and the terminal's mode are lost.
    case continued
    /// TERM, HUP, INT or QUIT: the monitor has to end.
    case signal(Int32)
    /// The terminal is closed.
    case closed
}

/// The terminal in full-screen use: raw mode, alternate screen, keys and size. The terminal is always restored at the
/// end.
package final class Terminal: Sendable {
    private static let entering = "\u{1B}[?1049h\u{1B}[?25l\u{1B}[?1004h\u{1B}[2J"
    /// Restores the screen, and ends an incomplete synchronized update.
    static let leaving = "\u{1B}[?2026l\u{1B}[0m\u{1B}[?1004l\u{1B}[?25h\u{1B}[?1049l"

    private let input: Int32
    private let output: Int32
    private let original: termios
    private let isEntered = Mutex(false)
    /// Keys and signals, from the reading thread.
    package let events: AsyncStream<TerminalEvent>
    private let reader: TerminalReader

    /// - Returns: nil if the descriptors are not a terminal, or if `TERM` is `dumb`, because such a terminal cannot
    ///   place text.
    package init?(input: Int32 = STDIN_FILENO, output: Int32 = STDOUT_FILENO) {
        if let term = getenv("TERM"), String(cString: term) == "dumb" { return nil }
        var mode = termios()
        guard isatty(input) == 1, isatty(output) == 1, tcgetattr(input, &mode) == 0 else { return nil }
        guard let signals = TerminalSignals(terminal: input, output: output, mode: mode) else { return nil }
        self.input = input
        self.output = output
        original = mode
        let (stream, continuation) = AsyncStream.makeStream(of: TerminalEvent.self)
        events = stream
        reader = TerminalReader(input: input, signals: signals, events: continuation)
    }

    /// Takes over the screen, also after the process was stopped, and starts to read keys.
    package func enter() {
        setRaw()
        // Entering the alternate screen twice would lose the cursor position of the normal screen.
        if isEntered.withLock({ $0.set(true) }) { write(Array(Self.entering.utf8)) }
        reader.start()
    }

    /// Restores the terminal. May be called more than once.
    package func leave() {
        restore()
        reader.stop()
    }

    /// Restores the terminal and stops the process as Ctrl-Z does. Call `enter` after `.continued`.
    package func suspend() {
        restore()
        reader.suspendProcess()
    }

    /// Whether the screen is taken over.
    package var isFullScreen: Bool { isEntered.withLock { $0 } }

    /// The size in cells; 80 by 24 if it is unknown.
    package var size: ScreenSize {
        var size = winsize()
        guard ioctl(output, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
            return ScreenSize(width: TableTarget.defaultWidth, height: 24)
        }
        return ScreenSize(width: Int(size.ws_col), height: Int(size.ws_row))
    }

    /// Writes all bytes, even to a slow terminal. Bytes that cannot be written are dropped.
    package func write(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { descriptorWrite(output, $0.baseAddress, $0.count) }
            if count < 0 {
                guard errno == EINTR || errno == EAGAIN else { return }
                var waiting = pollfd(fd: output, events: Int16(POLLOUT), revents: 0)
                _ = poll(&waiting, 1, 1_000)
            } else {
                rest = rest.dropFirst(count)
            }
        }
    }

    /// Copies a text to the clipboard, if the terminal allows it (OSC 52).
    package func copy(_ text: String) {
        write(Array("\u{1B}]52;c;\(Data(text.utf8).base64EncodedString())\u{7}".utf8))
    }

    private func restore() {
        guard isEntered.withLock({ $0.set(false) }) else { return }
        write(Array(Self.leaving.utf8))
        var mode = original
        _ = tcsetattr(input, TCSADRAIN, &mode)
    }

    private func setRaw() {
        var mode = original
        mode.c_iflag &= ~tcflag_t(BRKINT | ICRNL | INPCK | ISTRIP | IXON)
        mode.c_lflag &= ~tcflag_t(ECHO | ICANON | IEXTEN | ISIG)
        mode.c_cflag |= tcflag_t(CS8)
        _ = tcsetattr(input, TCSADRAIN, &mode)
    }
}

func descriptorWrite(_ descriptor: Int32, _ base: UnsafeRawPointer?, _ count: Int) -> Int {
    #if canImport(Glibc)
        Glibc.write(descriptor, base, count)
    #elseif canImport(Musl)
        Musl.write(descriptor, base, count)
    #else
        Darwin.write(descriptor, base, count)
    #endif
}
