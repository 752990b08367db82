import ArgumentParser
import Operations
import TerminalText

extension ColorChoice: ExpressibleByArgument {}
extension TimeStyle: ExpressibleByArgument {}

/// Options that every command takes, before or behind its name.
package struct GlobalOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "Redis: redis://, rediss://, unix://, redis+sentinel:// or redis+cluster:// URL.",
            valueName: "url"
        )
    )
    package var redis: String?

    @Option(name: [.customShort("N"), .long], help: "The namespace.")
    var namespace: String?

    @Option(name: [.customShort("o"), .long], help: ArgumentHelp("What stdout gets.", valueName: "format"))
    var output: OutputFormat?

    @Option(name: .long, help: ArgumentHelp("How times are shown.", valueName: "style"))
    var time: TimeStyle?

    @Option(name: .long, help: ArgumentHelp("When to use colour.", valueName: "when"))
    var color: ColorChoice?

    @Flag(name: .long, help: "Draw in ASCII.")
    var ascii = false

    @Flag(name: .long, help: "No header line in tables.")
    var noHeaders = false

    @Flag(name: .long, help: "Print data and errors only.")
    var quiet = false

    @Flag(name: [.short, .long], help: "Say more.")
    var verbose = false

    @Flag(name: .long, help: "Never ask; refuse what needs a confirmation.")
    var noInput = false

    @Flag(name: .long, help: "Refuse every change.")
    var readOnly = false

    @Option(
        name: .long,
        help: ArgumentHelp("Keys that sign and encrypt operations, a file of mode 600.", valueName: "file")
    )
    var keysFile: String?

    @Option(
        name: .long,
        help: ArgumentHelp("Show *** for these (args.password,args.*.token,result.key).", valueName: "paths")
    )
    var redact: String?

    @Flag(name: .long, help: "Show *** for arguments and results.")
    var hideArgs = false

    @Option(
        name: .long,
        help: ArgumentHelp("Longest time to reach Redis (2s).", valueName: "duration"),
        transform: DurationText.parse
    )
    var connectTimeout: Duration?

    package init() {}

    /// Options that take a value as the next word, for what must be known before parsing.
    static let valueOptions: Set<String> = [
        "--redis", "-N", "--namespace", "-o", "--output", "--time", "--color", "--connect-timeout",
        "--keys-file", "--redact",
    ]
}
