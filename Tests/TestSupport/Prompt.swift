import Testing

/// Expects that something did not take long: five times as long as promised and 15 seconds more at most. If ``MachinePace`` says that the
/// machine itself was late meanwhile, nothing is expected.
///
/// The bound tells a kept promise from a forgotten one, which takes half a minute or for ever. How well a promise is kept is measured by
/// `sluice bench` and `scripts/faults`, alone on the machine.
package func expectPrompt(
    _ what: String,
    since start: ContinuousClock.Instant,
    promised: Duration,
    sourceLocation: SourceLocation = #_sourceLocation
) {
    expectPrompt(what, took: ContinuousClock.now - start, promised: promised, sourceLocation: sourceLocation)
}

/// The same of a time that something else has measured, such as a record's.
package func expectPrompt(
    _ what: String,
    took time: Duration,
    promised: Duration,
    sourceLocation: SourceLocation = #_sourceLocation
) {
    let delay = MachinePace.shared.longestDelay(inLast: time)
    let isMeasured = delay < .milliseconds(500)
    print(
        "\(what): \(time), promised \(promised); the machine was late by \(delay)\(isMeasured ? "" : ", so this says nothing")"
    )
    #expect(!isMeasured || time < promised * 5 + .seconds(15), "\(what)", sourceLocation: sourceLocation)
}
