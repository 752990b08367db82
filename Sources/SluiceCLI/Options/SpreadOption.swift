import ArgumentParser
import Operations
import SluiceOperator
import TerminalText

/// `--spread`: the operations of a command start evenly over a time.
struct SpreadOption: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Start them evenly over this time, not all at once: the load under which they failed returns slowly.",
            valueName: "duration"
        ),
        transform: DurationText.parse
    )
    var spread: Duration?

    func check() throws { try TimeLimit.check(spread, "--spread") }
}
