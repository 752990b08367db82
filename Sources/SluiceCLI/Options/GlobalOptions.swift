import ArgumentParser
import SluiceOperator
import Operations
import TerminalText

extension ColorChoice: ExpressibleByArgument {}
extension TimeStyle: ExpressibleByArgument {}
extension StatisticsOrder: ExpressibleByArgument {}

/// Options that each command takes, before or after its name.
package struct GlobalOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "Connect to this redis://, rediss://, unix://, redis+sentinel:// or redis+cluster:// URL.",
            valueName: "url"
        )
    )
    package var redis: String?

    @Option(name: [.customShort("N"), .long], help: "The namespace.")
    var namespace: String?

    @Option(name: .long, help: ArgumentHelp("Use this profile of the configuration file.", valueName: "name"))
    var profile: String?

    @Option(
        name: .long,
        help: ArgumentHelp("Read this configuration file (~/.config/sluice/config.toml).", valueName: "file")
    )
    var config: String?

    @Option(name: [.customShort("o"), .long], help: ArgumentHelp("Print stdout in this format.", valueName: "format"))
    var output: OutputFormat?

    @Option(name: .long, help: ArgumentHelp("Print times in this style.", valueName: "style"))
    var time: TimeStyle?

    @Option(name: .long, help: ArgumentHelp("Use colors: always, never or auto.", valueName: "when"))
    var color: ColorChoice?

    @Flag(name: .long, help: "Use ASCII characters only.")
    var ascii = false

    @Flag(name: .long, help: "Print tables without a header line.")
    var noHeaders = false

    @Flag(name: .long, help: "Print data and errors only.")
    var quiet = false

    @Flag(name: [.short, .long], help: "Print more details.")
    var verbose = false

    @Flag(name: [.short, .long], help: "Do not ask for confirmation.")
    var yes = false

    @Flag(name: .long, help: "Never ask; refuse commands that need a confirmation.")
    var noInput = false

    @Flag(name: .long, help: "Refuse all changes.")
    var readOnly = false

    @Option(
        name: .long,
        help: ArgumentHelp("Sign and encrypt with the keys in this file of mode 600.", valueName: "file")
    )
    var keysFile: String?

    @Option(
        name: .long,
        help: ArgumentHelp("Show *** for these values (args.password,args.*.token,result.key).", valueName: "paths")
    )
    var redact: String?

    @Flag(name: .long, help: "Show *** for arguments and results.")
    var hideArgs = false

    @Option(
        name: .long,
        help: ArgumentHelp("Try to reach Redis for at most this time (2s).", valueName: "duration"),
        transform: DurationText.parse
    )
    var connectTimeout: Duration?

    package init() {}

    /// Options that take the next word as their value. Needed before parsing.
    static let valueOptions: Set<String> = [
        "--redis", "-N", "--namespace", "-o", "--output", "--time", "--color", "--connect-timeout",
        "--keys-file", "--redact", "--profile", "--config",
    ]
}
