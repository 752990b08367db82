import Foundation
import TestSupport

/// A shell in a tmux terminal, with a private tmux server. A program that a test starts from this shell meets real
/// conditions: job control, resized windows, and a terminal that keeps modes.
final class Tmux: Sendable {
    private static let prompt = "ready>"

    private let folder: TemporaryDirectory
    private let socket: String
    private let server: Program

    /// - Parameter environment: variables of the shell.
    init(width: Int, height: Int, environment: [String: String]) async throws {
        folder = try TemporaryDirectory()
        socket = try makeTemporaryFolder() + "/tmux"
        // Not a daemon: the server ends with the test.
        server = try Program(
            "/usr/bin/env",
            ["tmux", "-u", "-S", socket, "-f", "/dev/null", "-D"],
            environment: ["TERM": "xterm-256color", "LC_ALL": "C.UTF-8"]
        )
        try await eventually("the socket of tmux") { try await send("set", "-g", "status", "off").code == 0 }
        try await order(["set", "-g", "set-clipboard", "on"])
        let variables = environment.merging(Program.connectPatience) { $1 }.merging(["LC_ALL": "C.UTF-8"]) { $1 }
        // A non-interactive shell that starts this one would drop PS1 from the environment.
        try "PS1='\(Self.prompt) '\n".write(toFile: folder.path("rc"), atomically: true, encoding: .utf8)
        try await order(
            ["new-session", "-d", "-x", "\(width)", "-y", "\(height)"]
                + variables.flatMap { ["-e", "\($0.key)=\($0.value)"] }
                + ["bash --rcfile '\(folder.path("rc"))' -i"]
        )
        try await shows(Self.prompt)
    }

    /// Starts a product of this package from the shell.
    func start(_ product: String, _ arguments: [String]) async throws {
        let path = Program.directory.appendingPathComponent(product).path
        let words = ([path] + arguments).map { "'\($0)'" }.joined(separator: " ")
        let script = """
            stty -g >'\(folder.path("before"))'
            echo $$ >'\(folder.path("pid"))'
            cd '\(folder.url.path)'
            exec \(words)

            """
        try script.write(toFile: folder.path("program"), atomically: true, encoding: .utf8)
        try await type("sh \(folder.path("program"))\r")
    }

    /// The files in the working folder of the program.
    var files: [String] { get throws { try FileManager.default.contentsOfDirectory(atPath: folder.url.path) } }

    func contents(of file: String) throws -> String { try String(contentsOfFile: folder.path(file), encoding: .utf8) }

    /// The process id of the started program.
    var pid: pid_t {
        get throws {
            let text = try String(contentsOfFile: folder.path("pid"), encoding: .utf8)
            return pid_t(text.trimmingCharacters(in: .whitespacesAndNewlines)) ?? 0
        }
    }

    // MARK: Input of a user

    /// Types text; `\r` is Enter, `\u{1B}` Escape.
    func type(_ text: String) async throws {
        try await order(["send-keys", "-H"] + text.utf8.map { String($0, radix: 16) })
    }

    func resize(width: Int, height: Int) async throws {
        try await order(["resize-window", "-x", "\(width)", "-y", "\(height)"])
    }

    // MARK: Screen of a user

    /// The text on the screen.
    var text: String { get async throws { try await order(["capture-pane", "-p"]) } }

    /// The text that was copied last
    var clipboard: String { get async throws { try await send("show-buffer").output } }

    /// Waits until the screen shows all of the texts at the same time.
    func shows(_ texts: String..., file: StaticString = #fileID, line: UInt = #line) async throws {
        try await waits("\(texts) on the screen", file, line) { text in texts.allSatisfy(text.contains) }
    }

    /// Waits until the screen shows all of the texts and not `hidden`.
    func shows(
        _ texts: String...,
        without hidden: String,
        file: StaticString = #fileID,
        line: UInt = #line
    ) async throws {
        try await waits("\(texts) without \(hidden) on the screen", file, line) { text in
            texts.allSatisfy(text.contains) && !text.contains(hidden)
        }
    }

    /// Waits until the screen no longer shows a text.
    func hides(_ text: String, file: StaticString = #fileID, line: UInt = #line) async throws {
        try await waits("no \(text) on the screen", file, line) { !$0.contains(text) }
    }

    private func waits(
        _ what: String,
        _ file: StaticString,
        _ line: UInt,
        until condition: (String) -> Bool
    ) async throws {
        var last = ""
        do {
            try await eventually(what, file: file, line: line) {
                last = try await Seen.ignoring { try await text }
                // Digits are left out: clocks and ages change without any progress.
                Seen.note(last.filter { !$0.isNumber })
                return condition(last)
            }
        } catch let error as NotInTime {
            throw TerminalFailure(description: "\(error)\n\(last)")
        }
    }

    /// True while a program uses the alternate screen or the cursor is hidden
    var isFullScreen: Bool {
        get async throws {
            try await order(["display-message", "-p", "#{alternate_on} #{cursor_flag}"]) != "0 1\n"
        }
    }

    /// Waits until the started program has ended or stopped, and the shell shows its prompt again.
    ///
    /// - Returns: the exit status, and whether screen and mode are restored.
    func shell() async throws -> (status: Int32, isRestored: Bool) {
        // The first prompt is still on the screen, so the shell has to answer a command.
        try await eventually("the screen of the shell") { try await !isFullScreen }
        let answer = folder.path("answer")
        try await type("echo $? $(stty -g) >\(answer).new; mv \(answer).new \(answer)\r")
        try await eventually("the answer of the shell") { FileManager.default.fileExists(atPath: answer) }
        let words = try String(contentsOfFile: answer, encoding: .utf8).split { $0 == " " || $0 == "\n" }
        try FileManager.default.removeItem(atPath: answer)
        let before = try String(contentsOfFile: folder.path("before"), encoding: .utf8).split { $0 == "\n" }
        return (words.first.flatMap { Int32($0) } ?? -1, try await !isFullScreen && words.last == before.first)
    }

    // MARK: tmux

    private func send(_ words: String...) async throws -> Program.Outcome { try await send(words) }

    private func send(_ words: [String]) async throws -> Program.Outcome {
        try await Program.run("/usr/bin/env", ["tmux", "-u", "-S", socket] + words)
    }

    @discardableResult
    private func order(_ words: [String]) async throws -> String {
        let outcome = try await send(words)
        guard outcome.code == 0 else { throw TerminalFailure(description: "tmux \(words[0]): \(outcome.errors)") }
        return outcome.output
    }
}
