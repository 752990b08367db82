import ArgumentParser
import Operations
import Sluice
import SluiceMonitor
import SluiceOperator

package struct HoldVerb: ChangeVerb {
    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "hold",
            abstract: "Hold waiting operations: each starts only after its release.",
            discussion: """
                EXAMPLES
                  \(Program.name) hold 7QK2MX --reason "ask Ann first"
                  \(Program.name) hold -w 'queue:mail tag:newsletter'
                  \(Program.name) list state:blocked

                Ready, scheduled and retrying operations become blocked. An expiry still counts. An untracked \
                operation cannot be held, because it has no record. To hold back a whole queue: \(Program.name) queue \
                pause
                """
        )
    }

    @OptionGroup package var selection: Selection
    @Option(help: "Store this reason with the operations.") package var reason = ""
    @OptionGroup package var consent: Consent
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package static var kind: ChangeKind { .hold }
}

package struct ReleaseVerb: ChangeVerb {
    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "release",
            abstract: "Release held operations: to the head of their queue, or back to their time.",
            discussion: """
                EXAMPLES
                  \(Program.name) release 7QK2MX
                  \(Program.name) release -w 'queue:mail tag:newsletter'

                A scheduled or retrying operation waits for its time again, if that is still to come. Any other \
                operation becomes the next one of its priority. An operation that is blocked, but not held, no longer \
                waits for its dependencies, and can start before they have ended. Groups, their callbacks, and operations \
                that wait for their unique key are refused.
                """
        )
    }

    @OptionGroup package var selection: Selection
    @OptionGroup package var consent: Consent
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package static var kind: ChangeKind { .release }
}
