import ArgumentParser
import Operations

/// The commands and options of the program, read from ArgumentParser's description of itself.
struct CommandTree: Sendable {
    struct Option: Sendable {
        /// `--queue`, `-q`
        var names: [String]
        var takesValue: Bool
        var valueName: String
        /// The allowed values, if there are few.
        var values: [String]
        var abstract: String
    }

    var name: String
    var aliases: [String]
    var abstract: String
    var commands: [CommandTree]
    var options: [Option]
    /// The names of the arguments without an option.
    var positionals: [String]

    /// Reads the description of a command and those below it.
    init(_ root: any ParsableCommand.Type) { self.init(Self.description(of: root)) }

    /// What ArgumentParser says of a command and those below it; an empty object if that cannot be read.
    static func description(of root: any ParsableCommand.Type) -> JSONValue {
        // Each command has the global options, so this is larger than what is read from elsewhere may be.
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

    /// The command below this one with a name or an alias.
    func command(_ name: String) -> CommandTree? { commands.first { $0.name == name || $0.aliases.contains(name) } }

    /// The option with a name, `--queue` or `-q`.
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
