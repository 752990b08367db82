import Testing

/// Expects a short duration: at most five times the promised time plus 15 seconds.
///
/// The bound separates a kept promise from a forgotten one, which takes half a minute or forever. If ``MachinePace``
/// shows that the machine itself was slow, the test expects nothing. `sluice-bench` and `scripts/faults` measure
/// promises exactly, alone on the machine.
package func expectPrompt(
    _ what: String,
    since start: ContinuousClock.Instant,
    promised: Duration,
    sourceLocation: SourceLocation = #_sourceLocation
) {
    expectPrompt(what, took: ContinuousClock.now - start, promised: promised, sourceLocation: sourceLocation)
}

/// Expects a short duration that was measured elsewhere, such as one from a record.
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
