import Foundation

/// Tests that only `scripts/test --all` runs, with `SLUICE_TEST_LONG=1`.
///
/// Such tests find rare faults, or repeat a shorter test in another environment.
package enum LongTests {
    package static let areOn = ProcessInfo.processInfo.environment["SLUICE_TEST_LONG"] == "1"
}
