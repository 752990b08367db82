import Testing

/// Expects that something has not taken long, on a machine that does a dozen other things meanwhile: five times as long as promised and five
/// seconds more. That tells a promise kept from one forgotten, whose way takes half a minute or for ever; how well it is kept is measured by
/// `sluice bench` and `scripts/faults`, alone on the machine.
package func expectPrompt(
    _ what: String,
    since start: ContinuousClock.Instant,
    promised: Duration,
    sourceLocation: SourceLocation = #_sourceLocation
) {
    let time = ContinuousClock.now - start
    print("\(what): \(time), promised \(promised)")
    #expect(time < promised * 5 + .seconds(5), "\(what)", sourceLocation: sourceLocation)
}
