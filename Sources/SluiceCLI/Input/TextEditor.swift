import Foundation
import Operations

/// Opens JSON in the person's preferred editor.
struct TextEditor: Sendable {
    private let invocation: Invocation

    init(_ invocation: Invocation) { self.invocation = invocation }

    /// Opens an indented JSON value in the editor, and reads the saved file.
    ///
    /// - Parameters:
    ///   - json: a JSON value as UTF-8.
    ///   - name: the kind of value, for the file's name.
    /// - Returns: the saved value, checked.
    /// - Throws: `CLIError` with `.refused` without a terminal or if the editor fails; `.usage` if the saved text is
    ///   not JSON.
    func edit(_ json: [UInt8], of name: String) throws -> [UInt8] {
        guard isatty(STDIN_FILENO) == 1, isatty(STDOUT_FILENO) == 1 else {
            throw CLIError(.refused, "an editor needs a terminal", fix: "pass the changes as options or k=v")
        }
        let manager = FileManager.default
        let folder = manager.temporaryDirectory.appendingPathComponent("sluice-\(UUID().uuidString)")
        try manager.createDirectory(
            at: folder,
            withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700]
        )
        defer { try? manager.removeItem(at: folder) }
        let file = folder.appendingPathComponent("\(name).json")
        let text = (try? JSONValue(parsing: json).prettySerialized()) ?? String(decoding: json, as: UTF8.self)
        try Data((text + "\n").utf8).write(to: file)
        try open(file)
        let saved = Array(try Data(contentsOf: file))
        do { return Array(try JSONValue(parsing: saved).serialized().utf8) } catch {
            throw CLIError.usage("the saved text is not JSON: \(error); nothing was changed", fix: "edit it again")
        }
    }

    /// Runs the editor and waits for its end.
    ///
    /// The variable is a shell command that may have arguments, as in other programs. The file name is a parameter of
    /// the shell, which does not parse it.
    private func open(_ file: URL) throws {
        let environment = ProcessInfo.processInfo.environment
        let editor = [environment["VISUAL"], environment["EDITOR"]].compactMap { $0 }.first { !$0.isEmpty } ?? "vi"
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", editor + " \"$1\"", "sh", file.path]
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw CLIError(.refused, "the editor exited with \(process.terminationStatus); nothing was changed")
        }
    }
}
