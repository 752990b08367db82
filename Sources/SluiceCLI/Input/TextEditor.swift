import Foundation
import Operations

/// Lets a person edit JSON in the editor of their choice.
struct TextEditor: Sendable {
    private let invocation: Invocation

    init(_ invocation: Invocation) { self.invocation = invocation }

    /// Opens a JSON value, indented, and reads what was saved.
    ///
    /// - Parameters:
    ///   - json: one JSON value as UTF-8.
    ///   - name: what it is, for the file's name.
    /// - Returns: the value as it was saved, checked.
    /// - Throws: `CLIError` with `.refused` if there is no terminal or the editor fails, with `.usage` if what was saved is no JSON.
    func edit(_ json: [UInt8], of name: String) throws -> [UInt8] {
        guard isatty(STDIN_FILENO) == 1, isatty(STDOUT_FILENO) == 1 else {
            throw CLIError(.refused, "an editor needs a terminal", fix: "give what changes as options or k=v")
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
            throw CLIError.usage("what was saved is not JSON: \(error); nothing was changed", fix: "edit it again")
        }
    }

    /// The variable may have arguments: it is a command for the shell, as every program takes it. The file's name is none.
    private func open(_ file: URL) throws {
        let environment = ProcessInfo.processInfo.environment
        let editor = [environment["VISUAL"], environment["EDITOR"]].compactMap { $0 }.first { !$0.isEmpty } ?? "vi"
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", editor + " \"$1\"", "sh", file.path]
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw CLIError(.refused, "the editor ended with \(process.terminationStatus); nothing was changed")
        }
    }
}
