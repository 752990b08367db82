import ArgumentParser
import Operations
import SluiceOperator

/// The manual page of a command, made from the command's help: roff with the man macros.
struct ManPage: Sendable {
    /// `sluice-queue-pause`
    let name: String
    private let command: JSONValue
    /// `sluice queue pause`
    private let words: [String]

    /// The pages of the program and of all its commands.
    static func all(of root: any ParsableCommand.Type) -> [ManPage] {
        pages(CommandTree.description(of: root), below: [])
    }

    private static func pages(_ command: JSONValue, below words: [String]) -> [ManPage] {
        let page = ManPage(command, below: words)
        return [page] + shown(command["subcommands"]).flatMap { pages($0, below: page.words) }
    }

    private init(_ command: JSONValue, below words: [String]) {
        self.command = command
        self.words = words + [command["commandName"]?.stringValue ?? ""]
        name = self.words.joined(separator: "-")
    }

    var text: String {
        let title = ".TH \"\(name.uppercased())\" 1 \"\" \"sluice \(Program.version)\" \"Sluice\""
        let abstract = command["abstract"]?.stringValue ?? ""
        let summary = abstract.hasSuffix(".") ? String(abstract.dropLast()) : abstract
        let parts =
            [title, ".SH NAME", Roff.line("\(name) - \(summary)"), ".SH SYNOPSIS", synopsis] + discussion
            + section("COMMANDS", commands) + section("ARGUMENTS", arguments) + section("OPTIONS", options)
            + section("EXIT STATUS", statuses) + section("SEE ALSO", references)
        return parts.joined(separator: "\n") + "\n"
    }
}

// MARK: - Sections

extension ManPage {
    private static func shown(_ list: JSONValue?) -> [JSONValue] {
        (list?.arrayValue ?? []).filter { $0["shouldDisplay"]?.boolValue ?? true }
    }

    private var isProgram: Bool { words.count == 1 }

    private func section(_ title: String, _ lines: [String]) -> [String] {
        lines.isEmpty ? [] : [".SH \(title)"] + lines
    }

    private var synopsis: String {
        var line = Roff.bold(words.joined(separator: " "))
        if !Self.shown(command["subcommands"]).isEmpty { line += " \\fICOMMAND\\fR" }
        line += " [\\fIOPTIONS\\fR]"
        for argument in Self.shown(command["arguments"]) where argument["kind"]?.stringValue == "positional" {
            let value = Roff.italic(argument["valueName"]?.stringValue ?? "")
            let repeats = argument["isRepeating"]?.boolValue == true ? "..." : ""
            line += argument["isOptional"]?.boolValue == true ? " [\(value)\(repeats)]" : " \(value)\(repeats)"
        }
        return line
    }

    /// The examples, followed by the description, as in the help.
    private var discussion: [String] {
        let lines = (command["discussion"]?.stringValue ?? "").split(separator: "\n", omittingEmptySubsequences: false)
        let examples = lines.first == "EXAMPLES" ? lines.dropFirst().prefix { $0.hasPrefix("  ") } : []
        let rest = lines.dropFirst(examples.isEmpty ? 0 : examples.count + 1).drop { $0.isEmpty }
        let shown = examples.map { Roff.line(String($0.dropFirst(2))) }
        return section("EXAMPLES", shown.isEmpty ? [] : [".nf"] + shown + [".fi"])
            + section(
                "DESCRIPTION",
                rest.isEmpty ? [] : rest.map { $0.isEmpty ? ".PP" : Roff.line(String($0)) + "\n.br" }
            )
    }

    private var commands: [String] {
        Self.shown(command["subcommands"]).flatMap { command in
            [
                ".TP", Roff.bold(command["commandName"]?.stringValue ?? ""),
                Roff.line(command["abstract"]?.stringValue ?? ""),
            ]
        }
    }

    private var arguments: [String] {
        Self.shown(command["arguments"]).filter { $0["kind"]?.stringValue == "positional" }.flatMap { argument in
            [
                ".TP", Roff.italic(argument["valueName"]?.stringValue ?? ""),
                Roff.line(argument["abstract"]?.stringValue ?? ""),
            ]
        }
    }

    private var options: [String] {
        Self.shown(command["arguments"]).filter { $0["kind"]?.stringValue != "positional" }.flatMap { option in
            let names = (option["names"]?.arrayValue ?? []).compactMap { name -> String? in
                guard let text = name["name"]?.stringValue else { return nil }
                return Roff.bold((name["kind"]?.stringValue == "long" ? "--" : "-") + text)
            }
            let takesValue = option["kind"]?.stringValue == "option"
            let value = takesValue ? " " + Roff.italic(option["valueName"]?.stringValue ?? "") : ""
            return [".TP", names.joined(separator: ", ") + value, Roff.line(option["abstract"]?.stringValue ?? "")]
        }
    }

    private var statuses: [String] {
        guard isProgram else { return [] }
        return ExitStatus.allCases.flatMap { [".TP", Roff.bold("\($0.rawValue)"), Roff.line($0.meaning)] }
    }

    private var references: [String] {
        let below = Self.shown(command["subcommands"]).compactMap { $0["commandName"]?.stringValue }
        let names = isProgram ? [] : [words.dropLast().joined(separator: "-")]
        let all = names + below.map { "\(name)-\($0)" }
        return all.isEmpty ? [] : [all.map { Roff.bold($0) + "(1)" }.joined(separator: ", ")]
    }
}

/// Formats text for roff.
private enum Roff {
    /// Escapes a line, so that roff takes no part of it for a request or an escape.
    static func line(_ text: String) -> String {
        let escaped = escaped(text)
        return escaped.hasPrefix(".") || escaped.hasPrefix("'") ? "\\&" + escaped : escaped
    }

    static func bold(_ text: String) -> String { "\\fB\(escaped(text))\\fR" }
    static func italic(_ text: String) -> String { "\\fI\(escaped(text))\\fR" }

    private static func escaped(_ text: String) -> String {
        text.replacing("\\", with: "\\e").replacing("-", with: "\\-")
    }
}
