import ArgumentParser

/// Whether a command that changes many operations only shows the effect.
package struct Consent: ParsableArguments {
    @Flag(help: "Show how many operations would change, and some of them. Change nothing.")
    var dryRun = false

    package init() {}
}
