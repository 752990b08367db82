import Foundation
import Operations

/// Calls its hook when it is released.
final class Released: Sendable {
    private let hook: @Sendable () -> Void
    init(_ hook: @escaping @Sendable () -> Void) { self.hook = hook }
    deinit { hook() }
}

final class Probe: Sendable {
    let value = Guarded<Released?>(nil)
}

extension Implementation {
    /// Returns an operation whose body keeps the value of the probe alive.
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
