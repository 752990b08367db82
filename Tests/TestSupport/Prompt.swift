import Testing

/// Expects that something did not take long. On an idle machine it may take five times as long as promised and 15 seconds more; on a slow
/// one, longer by what ``MachinePace`` measured meanwhile.
///
/// That tells a kept promise from a forgotten one, which takes half a minute or for ever. How well a promise is kept is measured by
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
    let delay = MachinePace.shared.longestDelay(inLast: time + .seconds(60))
    print("\(what): \(time), promised \(promised); the machine was late by \(delay)")
    #expect(time < promised * 5 + .seconds(15) + delay * 20, "\(what)", sourceLocation: sourceLocation)
}
