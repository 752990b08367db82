import ArgumentParser
import Operations

/// The commands and options of the program, read from ArgumentParser's description of itself.
struct CommandTree: Sendable {
    struct Option: Sendable {
        /// `--queue`, `-q`
        var names: [String]
        var takesValue: Bool
        var valueName: String
        /// The allowed values, if the option has a fixed set of them.
        var values: [String]
        var abstract: String
    }

    var name: String
    var aliases: [String]
    var abstract: String
    var commands: [CommandTree]
    var options: [Option]
    /// The names of the arguments that belong to no option.
    var positionals: [String]

    /// Reads the description of a command and of its subcommands.
    init(_ root: any ParsableCommand.Type) { self.init(Self.description(of: root)) }

    /// ArgumentParser's description of a command and of its subcommands; an empty object if it cannot be read.
    static func description(of root: any ParsableCommand.Type) -> JSONValue {
        // Each command repeats the global options, so the description exceeds the usual limit for JSON.
        let limits = JSONLimits(maximumBytes: 1 << 24)
        return (try? JSONValue(parsing: Array(root._dumpHelp().utf8), limits: limits)["command"]) ?? [:]
    }

    private init(_ command: JSONValue) {
        name = command["commandName"]?.stringValue ?? ""
        aliases = Self.texts(command["aliases"])
        abstract = command["abstract"]?.stringValue ?? ""
        commands = Self.shown(command["subcommands"]).map { CommandTree($0) }
        let arguments = Self.shown(command["arguments"])
        options = arguments.filter { $0["kind"]?.stringValue != "positional" }.map { Option($0) }
        positionals = arguments.filter { $0["kind"]?.stringValue == "positional" }.map {
            $0["valueName"]?.stringValue ?? ""
        }
    }

    /// The subcommand with this name or alias.
    func command(_ name: String) -> CommandTree? { commands.first { $0.name == name || $0.aliases.contains(name) } }

    /// The option with this name, `--queue` or `-q`.
    func option(_ name: String) -> Option? { options.first { $0.names.contains(name) } }

    private static func shown(_ list: JSONValue?) -> [JSONValue] {
        (list?.arrayValue ?? []).filter { $0["shouldDisplay"]?.boolValue ?? true }
    }

    fileprivate static func texts(_ list: JSONValue?) -> [String] { (list?.arrayValue ?? []).compactMap(\.stringValue) }
}

extension CommandTree.Option {
    fileprivate init(_ argument: JSONValue) {
        names = (argument["names"]?.arrayValue ?? []).compactMap { name in
            name["name"]?.stringValue.map { (name["kind"]?.stringValue == "long" ? "--" : "-") + $0 }
        }
        takesValue = argument["kind"]?.stringValue == "option"
        valueName = argument["valueName"]?.stringValue ?? ""
        values = CommandTree.texts(argument["allValues"])
        abstract = argument["abstract"]?.stringValue ?? ""
    }
}
