import Testing

/// Expects that something has not taken long, on a machine that does a dozen other things meanwhile: five times as long as promised and 15
/// seconds more. That tells a promise kept from one forgotten, whose way takes half a minute or for ever; how well it is kept is measured by
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
    print("\(what): \(time), promised \(promised)")
    #expect(time < promised * 5 + .seconds(15), "\(what)", sourceLocation: sourceLocation)
}
