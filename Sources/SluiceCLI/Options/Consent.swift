import ArgumentParser

/// How a command that changes many operations is confirmed.
package struct Consent: ParsableArguments {
    @Flag(name: [.short, .long], help: "Do not ask.")
    var yes = false
    @Flag(help: "Show how many operations would change, and some of them. Change nothing.")
    var dryRun = false

    package init() {}
}
