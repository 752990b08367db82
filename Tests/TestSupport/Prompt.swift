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
    let time = ContinuousClock.now - start
    expectPrompt(what, time, promised, lookingBack: time, sourceLocation)
}

/// Expects a short duration that was measured elsewhere, such as one from a record.
///
/// The measured time ended before the test read it, so the machine is judged by two more minutes.
package func expectPrompt(
    _ what: String,
    took time: Duration,
    promised: Duration,
    sourceLocation: SourceLocation = #_sourceLocation
) {
    expectPrompt(what, time, promised, lookingBack: max(time, .zero) + .seconds(120), sourceLocation)
}

private func expectPrompt(
    _ what: String,
    _ time: Duration,
    _ promised: Duration,
    lookingBack past: Duration,
    _ sourceLocation: SourceLocation
) {
    let (isMeasured, pace) = keptPace(inLast: past)
    print("\(what): \(time), promised \(promised); \(pace)")
    #expect(!isMeasured || time < promised * 5 + .seconds(15), "\(what)", sourceLocation: sourceLocation)
}

/// Expects a state that a program reaches only if Redis answers it within seconds, for example because it gives up at
/// its end. If ``MachinePace`` shows that the machine was slow in the last minute, the test expects nothing.
package func expectUnlessSlow(
    _ what: String,
    _ isSo: Bool,
    sourceLocation: SourceLocation = #_sourceLocation
) {
    guard !isSo else { return }
    let (isMeasured, pace) = keptPace(inLast: .seconds(60))
    print("not \(what); \(pace)")
    #expect(!isMeasured, "\(what)", sourceLocation: sourceLocation)
}

/// Returns whether the machine kept pace, and a text about it.
private func keptPace(inLast past: Duration) -> (isMeasured: Bool, text: String) {
    let delay = MachinePace.shared.longestDelay(inLast: past)
    let isMeasured = delay < .milliseconds(500)
    return (isMeasured, "the machine was late by \(delay)\(isMeasured ? "" : ", so this says nothing")")
}
