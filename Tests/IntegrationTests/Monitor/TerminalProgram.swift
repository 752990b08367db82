import Foundation
import Synchronization
import TestSupport

struct TerminalFailure: Error, CustomStringConvertible {
    let description: String
}

/// A program in a pseudo terminal whose other end the test holds.
final class TerminalProgram: Sendable {
    private let master: Int32
    let pid: Int32
    /// The program's end of the terminal, nil after the end. The test keeps it open, so the last output is not lost.
    private let slave: Mutex<Int32?>
    private let output: Output
    private let modeAtEnd = Mutex<termios?>(nil)
    private let mode: termios

    /// Starts a product of this package as the leader of a session, with the terminal as its standard streams.
    init(
        _ product: String,
        _ arguments: [String],
        width: Int = 80,
        height: Int = 24,
        environment: [String: String] = [:]
    ) throws {
        var size = winsize(ws_row: UInt16(height), ws_col: UInt16(width), ws_xpixel: 0, ws_ypixel: 0)
        var ends: (master: Int32, slave: Int32) = (-1, -1)
        var name = [CChar](repeating: 0, count: 128)
        guard openpty(&ends.master, &ends.slave, nil, nil, &size) == 0, ttyname_r(ends.slave, &name, name.count) == 0
        else { throw TerminalFailure(description: "no pseudo terminal") }
        let (master, slave) = ends
        var mode = termios()
        tcgetattr(slave, &mode)
        (self.master, self.mode) = (master, mode)
        self.slave = Mutex(slave)
        output = Output(master: master, screen: TerminalScreen(width: width, height: height))
        let path = String(decoding: name.prefix { $0 != 0 }.map(UInt8.init), as: UTF8.self)
        let all = ProcessInfo.processInfo.environment
            .merging(Program.connectPatience) { $1 }
            .merging(["TERM": "xterm-256color", "LC_ALL": "C.UTF-8"]) { $1 }
            .merging(TestUsers.environment(environment, for: arguments)) { $1 }
        pid = try Self.spawn(Program.directory.appendingPathComponent(product).path, arguments, terminal: path, all)
        Thread { [output] in output.read() }.start()
    }

    deinit {
        slave.withLock { slave in
            guard let slave else { return }
            kill(pid, SIGKILL)
            var status: Int32 = 0
            waitpid(pid, &status, 0)
            close(slave)
        }
    }

    /// The output of the program, a separate object: the reading thread must not keep the program alive.
    private final class Output: Sendable {
        let screen: Mutex<TerminalScreen>
        let isDrained = Mutex(false)

        private let master: Int32

        init(master: Int32, screen: TerminalScreen) {
            self.master = master
            self.screen = Mutex(screen)
        }

        deinit { close(master) }

        func read() {
            var chunk = [UInt8](repeating: 0, count: 65_536)
            while case let count = Glibc.read(master, &chunk, chunk.count), count > 0 {
                screen.withLock { $0.write(chunk[..<count]) }
            }
            isDrained.withLock { $0 = true }
        }
    }

    /// The text on the screen
    var text: String { output.screen.withLock { $0.text } }
    /// True while the alternate screen is on or the cursor is hidden
    var isFullScreen: Bool { output.screen.withLock { $0.isAlternate || $0.isCursorHidden } }
    /// True if the terminal's mode (echo, line editing, signals) is as before the program ran
    var isModeRestored: Bool {
        let now = modeAtEnd.withLock { $0 } ?? currentMode
        return now.c_lflag == mode.c_lflag && now.c_iflag == mode.c_iflag && now.c_oflag == mode.c_oflag
    }

    private var currentMode: termios {
        var mode = termios()
        tcgetattr(master, &mode)
        return mode
    }

    func type(_ text: String) {
        let bytes = Array(text.utf8)
        _ = write(master, bytes, bytes.count)
    }

    func resize(width: Int, height: Int) {
        var size = winsize(ws_row: UInt16(height), ws_col: UInt16(width), ws_xpixel: 0, ws_ypixel: 0)
        output.screen.withLock { $0 = TerminalScreen(width: width, height: height, like: $0) }
        _ = ioctl(master, UInt(TIOCSWINSZ), &size)
    }

    /// Waits until the screen shows one of the texts.
    func shows(_ texts: String..., file: StaticString = #fileID, line: UInt = #line) async throws {
        do {
            try await eventually("\(texts) on the screen", file: file, line: line) {
                texts.contains(where: self.text.contains)
            }
        } catch {
            throw TerminalFailure(description: "\(error)\n\(self.text)")
        }
    }

    /// Waits until the program has ended and its whole output is on the screen.
    /// - Returns: the exit status, or 128 plus the number of the signal that ended the program.
    func end() async throws -> Int32 {
        var status: Int32 = 0
        try await eventually("the end of the program") { waitpid(pid, &status, WNOHANG) == pid }
        modeAtEnd.withLock { $0 = currentMode }
        slave.withLock { slave in
            if let open = slave { close(open) }
            slave = nil
        }
        try await eventually("the end of the output") { output.isDrained.withLock { $0 } }
        return status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + (status & 0x7F)
    }

    private static func spawn(
        _ path: String,
        _ arguments: [String],
        terminal: String,
        _ environment: [String: String]
    ) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        // A session leader that opens a terminal gets it as the controlling terminal.
        posix_spawn_file_actions_addopen(&actions, 0, terminal, O_RDWR, 0)
        posix_spawn_file_actions_adddup2(&actions, 0, 1)
        posix_spawn_file_actions_adddup2(&actions, 0, 2)
        let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { Int32($0) }
        for descriptor in open where descriptor > 2 { posix_spawn_file_actions_addclose(&actions, descriptor) }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK) | 0x80)
        let words = ([path] + arguments).map { strdup($0) }
        let variables = environment.map { strdup("\($0.key)=\($0.value)") }
        defer { (words + variables).forEach { free($0) } }
        var pid: pid_t = 0
        let status = posix_spawn(&pid, path, &actions, &attributes, words + [nil], variables + [nil])
        guard status == 0 else {
            throw TerminalFailure(description: "cannot run \(path): \(String(cString: strerror(status)))")
        }
        return pid
    }
}

/// A minimal terminal, just enough to see what a program draws.
struct TerminalScreen: Sendable {
    private let width: Int
    private let height: Int
    private var cells: [[Character]]
    private var x = 0
    private var y = 0
    private var pending: [UInt8] = []
    /// The other screen while the alternate one is shown.
    private var saved: (cells: [[Character]], x: Int, y: Int)?
    var isAlternate: Bool { saved != nil }
    private(set) var isCursorHidden = false

    init(width: Int, height: Int, like other: TerminalScreen? = nil) {
        (self.width, self.height) = (width, height)
        cells = Array(repeating: Array(repeating: " ", count: width), count: height)
        saved = other?.saved.map { _ in (cells, 0, 0) }
        isCursorHidden = other?.isCursorHidden ?? false
    }

    var text: String { cells.map { String($0) }.joined(separator: "\n") }

    mutating func write(_ bytes: some Sequence<UInt8>) {
        pending += bytes
        while let length = completeLength {
            let piece = pending[..<length]
            pending = Array(pending[length...])
            if piece.first == 0x1B { perform(Array(piece)) } else { put(String(decoding: piece, as: UTF8.self)) }
        }
    }

    /// The length of the first character or escape sequence in bytes; nil if it is incomplete
    private var completeLength: Int? {
        guard let first = pending.first else { return nil }
        guard first == 0x1B else {
            let length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4
            return pending.count >= length ? length : nil
        }
        return pending.dropFirst(2).firstIndex { (0x40...0x7E).contains($0) }.map { $0 + 1 }
    }

    private mutating func put(_ text: String) {
        for character in text {
            switch character {
            case "\r": x = 0
            case "\n", "\r\n": y = min(y + 1, height - 1)
            default:
                if x < width, y < height { cells[y][x] = character }
                x += 1
            }
        }
    }

    private mutating func perform(_ sequence: [UInt8]) {
        let parameters = String(decoding: sequence[2..<(sequence.count - 1)], as: UTF8.self)
        switch Character(Unicode.Scalar(sequence[sequence.count - 1])) {
        case "H":
            let numbers = parameters.split(separator: ";").compactMap { Int($0) }
            (y, x) = ((numbers.first ?? 1) - 1, (numbers.last ?? 1) - 1)
        case "J": cells = Array(repeating: Array(repeating: " ", count: width), count: height)
        case "h": set(parameters, true)
        case "l": set(parameters, false)
        default: break
        }
    }

    private mutating func set(_ mode: String, _ on: Bool) {
        switch mode {
        case "?1049" where on: saved = saved ?? (cells, x, y)
        case "?1049":
            if let saved { (cells, x, y) = saved }
            saved = nil
        case "?25": isCursorHidden = !on
        default: break
        }
    }
}
