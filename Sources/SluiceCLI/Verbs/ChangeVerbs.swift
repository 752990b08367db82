import ArgumentParser
import Operations
import Sluice
import SluiceMonitor
import SluiceOperator

package struct RetryVerb: ChangeVerb {
    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "retry",
            abstract: "Run dead, cancelled or expired operations again, and retrying or scheduled ones now.",
            discussion: """
                EXAMPLES
                  \(Program.name) retry 7QK2MX
                  \(Program.name) retry -w 'state:dead name:Send*'
                  \(Program.name) retry -w 'error:"timed out"' --dry-run
                  \(Program.name) retry -w 'state:dead queue:mail' --spread 10m
                  \(Program.name) retry 7QK2MX --tree
                  \(Program.name) list -o id --limit 200 state:dead tag:test | \(Program.name) retry -

                Of a group, all members run again that have ended without finishing. \
                --tree also runs what was cancelled because these have failed, or with them by cancel --tree; it waits for them. \
                Errors and log stay. The attempts of an ended operation begin at 1. A query without a state leaves out scheduled \
                operations, whose time a producer has chosen.
                """
        )
    }

    @OptionGroup package var selection: Selection
    @OptionGroup var tree: TreeFlag
    @OptionGroup var spreading: SpreadOption
    @OptionGroup package var consent: Consent
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func check() throws {
        try selection.check()
        try tree.check(selection)
        try spreading.check()
    }

    package var spread: Duration? { spreading.spread }

    package func expanded(_ references: [IDReference], _ client: SluiceClient) async throws -> [IDReference] {
        tree.tree ? try await DependencyTree.ofRetry(client.broker, references) : references
    }

    package static var kind: ChangeKind { .retry }
}

package struct RemoveVerb: ChangeVerb {
    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "rm",
            abstract: "Remove operations that are not running, with result, errors and log.",
            discussion: """
                EXAMPLES
                  \(Program.name) rm 7QK2MX
                  \(Program.name) rm -w state:cancelled -y
                  \(Program.name) rm -w 'state:finished age:>2h' --dry-run
                  \(Program.name) list -o id --limit 200 state:cancelled tag:test | \(Program.name) rm -
                """
        )
    }

    @OptionGroup package var selection: Selection
    @OptionGroup package var consent: Consent
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package static var kind: ChangeKind { .remove }
}
