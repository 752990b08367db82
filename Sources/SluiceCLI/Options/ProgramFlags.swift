import ArgumentParser
import BuiltinOperations
import Foundation
import Operations
import SluiceOperator

/// Folder, environment and input for the program of an `exec` operation.
package struct ProgramFlags: ParsableArguments {
    @Option(help: ArgumentHelp("Run the program in this folder of the worker's machine.", valueName: "folder"))
    var cwd: String?
    @Option(
        name: .customLong("env"),
        help: ArgumentHelp(
            "Set a variable for the program; NAME alone takes the value from here.",
            valueName: "name=value"
        )
    )
    var variables: [String] = []
    @Option(
        name: .customLong("stdin"),
        help: ArgumentHelp(
            "Pass this UTF-8 file of up to 1 MiB as the program's stdin; - is this stdin.",
            valueName: "file"
        )
    )
    var input: String?
    @Option(
        help: ArgumentHelp(
            "Enqueue the commands in this file, one a line: words and quotes, no shell; - is stdin.",
            valueName: "file"
        )
    )
    var lines: String?

    package init() {}

    /// Checks the options.
    ///
    /// - Parameter hasProgram: whether the operation is a program.
    func check(hasProgram: Bool) throws(CLIError) {
        let given = [("--cwd", cwd != nil), ("--env", !variables.isEmpty), ("--stdin", input != nil)].filter(\.1).map(
            \.0
        )
        if let first = given.first, !hasProgram, lines == nil {
            throw .usage(
                "\(first) needs a program after --",
                fix: "\(Program.name) enqueue \(first) … -- PROGRAM ARG.."
            )
        }
        guard cwd != "" else { throw .usage("--cwd is empty", fix: "--cwd /srv/app") }
        guard lines != "-" || input != "-" else {
            throw .usage("--lines and --stdin both read stdin", fix: "--lines FILE --stdin -")
        }
    }

    /// Adds these options to the arguments of `exec`.
    ///
    /// - Parameters:
    ///   - arguments: the other arguments.
    ///   - environment: the source for variables that are given without a value.
    func added(
        to arguments: JSONObject,
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(CLIError) -> JSONObject {
        var arguments = arguments
        if let cwd { try Self.set("cwd", .string(Self.absolute(cwd)), in: &arguments) }
        if !variables.isEmpty {
            var object = JSONObject()
            for text in variables { try Self.set(variable: text, in: &object, environment) }
            try Self.set("env", .object(object), in: &arguments)
        }
        if let input { try Self.set("stdin", .string(Self.text(input)), in: &arguments) }
        return arguments
    }

    private static func set(_ key: String, _ value: JSONValue, in arguments: inout JSONObject) throws(CLIError) {
        guard arguments[key] == nil else {
            throw .usage("the argument \"\(key)\" and --\(key) are the same", fix: "drop one of them")
        }
        arguments[key] = value
    }

    private static func set(
        variable text: String,
        in object: inout JSONObject,
        _ environment: [String: String]
    ) throws(CLIError) {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard ProgramEnvironment.isName(parts[0]) else {
            throw .usage("--env: \(OperationsError.quoted(parts[0])) is not a variable name", fix: "--env COLOR=red")
        }
        guard object[parts[0]] == nil else {
            throw .usage("--env: \(parts[0]) is given twice", fix: "drop one of them")
        }
        guard let value = parts.count == 2 ? parts[1] : environment[parts[0]] else {
            throw .usage(
                "--env \(parts[0]) copies \(parts[0]) from your shell, and it is not set there",
                fix: "--env \(parts[0])=VALUE"
            )
        }
        object[parts[0]] = .string(value)
    }

    /// Makes a folder absolute. A relative folder is relative to this process, not to the worker.
    private static func absolute(_ folder: String) -> String {
        let here = FileManager.default.currentDirectoryPath
        return folder.hasPrefix("/") ? folder : folder == "." ? here : "\(here)/\(folder)"
    }

    private static func text(_ path: String) throws(CLIError) -> String {
        guard let text = String(validating: try InputFile.read(path), as: UTF8.self) else {
            throw .usage(
                "--stdin: \(InputFile.name(path)) is not UTF-8",
                fix: "base64 FILE | \(Program.name) enqueue --stdin - -- sh -c 'base64 -d | PROGRAM'"
            )
        }
        return text
    }
}
