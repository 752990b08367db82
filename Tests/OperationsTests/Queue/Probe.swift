import Foundation
import Operations

/// Says when it is released.
final class Released: Sendable {
    private let hook: @Sendable () -> Void
    init(_ hook: @escaping @Sendable () -> Void) { self.hook = hook }
    deinit { hook() }
}

final class Probe: Sendable {
    let value = Guarded<Released?>(nil)
}

extension Implementation {
    /// An operation whose body holds what the probe holds.
    func holding(_ probe: Probe, _ journal: Journal, gate: Gate) -> any OperationAdapter {
        let held = probe.value.withLock { $0 }
        switch self {
        case .sluice:
            return SluiceOperation(
                ValueOperation {
                    journal.note("+held")
                    await gate.wait()
                    withExtendedLifetime(held) {}
                }
            )
        case .foundation:
            return FoundationOperation(
                BlockOperation {
                    journal.note("+held")
                    gate.block()
                    withExtendedLifetime(held) {}
                }
            )
        }
    }
}
