import ArgumentParser
import SluiceOperator

/// `--tree`: the command also applies to the dependents of the named operations.
package struct TreeFlag: ParsableArguments {
    @Flag(help: "Include direct and indirect dependents; --dry-run shows how many operations are affected.")
    var tree = false

    package init() {}

    func check(_ selection: Selection) throws(CLIError) {
        guard !tree || !selection.isQuery else {
            throw .usage(
                "--tree needs ids of operations; it does not apply to -w and -t",
                fix: "drop -w and -t, or --tree"
            )
        }
    }
}
