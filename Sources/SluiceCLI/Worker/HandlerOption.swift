import BuiltinOperations
import Foundation
import Operations
import RedisClient

/// A program that runs the operations of a name: `--handler NAME=PROGRAM`.
struct HandlerOption: Equatable {
    let name: String
    /// The absolute path. A later change of PATH or of the current folder does not change the program.
    let program: String

    /// Parses a value of the option.
    ///
    /// - Parameters:
    ///   - text: `NAME=PROGRAM`. A program with a slash is a path; any other program is searched in `path`.
    ///   - path: the folders to search, in the form of PATH.
    /// - Throws: `.usage` for a wrong form or name, `.badConfiguration` for a program that cannot be run.
    init(parsing text: String, path: String) throws(CLIError) {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2, !parts[1].isEmpty else {
            throw .usage(
                "--handler \(OperationsError.quoted(text)) has no program",
                fix: "--handler \(parts[0].isEmpty ? "NAME" : parts[0])=PROGRAM"
            )
        }
        guard NameRule.allows(parts[0]) else {
            throw .usage(
                "--handler: \(OperationsError.quoted(parts[0])) is not an operation name: use letters, digits, . _ -",
                fix: "--handler mail.send=\(parts[1])"
            )
        }
        guard !BuiltinOperations.names.contains(parts[0]) else {
            throw .usage("--handler: \"\(parts[0])\" is a built-in operation", fix: "choose another name")
        }
        name = parts[0]
        try Self.checkWords(parts[1], of: parts[0], path)
        program = try Self.locate(parts[1], path)
    }

    /// Refuses a program with arguments, unless a program with that whole name exists.
    private static func checkWords(_ text: String, of name: String, _ path: String) throws(CLIError) {
        guard let words = try? CommandWords.split(text), words.count > 1, (try? locate(text, path)) == nil,
            (try? locate(words[0], path)) != nil
        else { return }
        throw .usage(
            "--handler takes a program without arguments: \(OperationsError.quoted(text))",
            fix:
                "printf '#!/bin/sh\\nexec %s\\n' \(ShellWords.quoted(text)) >\(name).sh; chmod +x \(name).sh; … --handler \(name)=./\(name).sh"
        )
    }

    private static func locate(_ program: String, _ path: String) throws(CLIError) -> String {
        if program.contains("/") {
            let place = URL(filePath: program).standardizedFileURL.path
            if let problem = problem(place) {
                throw CLIError(
                    .badConfiguration,
                    "--handler: \(OperationsError.quoted(program)) \(problem)",
                    fix: problem == notExecutable ? "chmod +x \(program)" : "ls -l \(program)"
                )
            }
            return place
        }
        switch ProgramSearch.find(program, path: path) {
        case .found(let place): return URL(filePath: place).standardizedFileURL.path
        case .forbidden(let place):
            throw CLIError(
                .badConfiguration,
                "--handler: \(OperationsError.quoted(place)) \(notExecutable)",
                fix: "chmod +x \(place)"
            )
        case .missing:
            throw CLIError(
                .badConfiguration,
                "--handler: there is no program \(OperationsError.quoted(program)) in PATH",
                fix: "--handler NAME=./\(program)"
            )
        }
    }

    private static let notExecutable = "is not executable"

    private static func problem(_ path: String) -> String? {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else { return "does not exist" }
        if isFolder.boolValue { return "is a folder" }
        return ProgramSearch.isProgram(path) ? nil : notExecutable
    }
}

extension HandlerOption {
    /// Parses all values of the option.
    ///
    /// - Throws: the errors for a single value, and `.usage` for a duplicate name.
    static func all(_ texts: [String]) throws(CLIError) -> [HandlerOption] {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ProgramSearch.defaultPath
        var options: [HandlerOption] = []
        for text in texts {
            let option = try HandlerOption(parsing: text, path: path)
            guard !options.contains(where: { $0.name == option.name }) else {
                throw .usage("--handler: \"\(option.name)\" is given twice", fix: "one program for each name")
            }
            options.append(option)
        }
        return options
    }
}
