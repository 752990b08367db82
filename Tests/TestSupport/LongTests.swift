import Foundation

/// Tests that only `scripts/test --all` runs, with `SLUICE_TEST_LONG=1`: they find what is rare, or the same as a shorter test in other
/// surroundings.
package enum LongTests {
    package static let areOn = ProcessInfo.processInfo.environment["SLUICE_TEST_LONG"] == "1"
}
