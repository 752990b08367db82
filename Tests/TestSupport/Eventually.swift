/// What a test waited for in vain.
package struct NotInTime: Error, CustomStringConvertible {
    package let description: String
}

/// Waits until a condition holds. The one way in which tests wait for something that announces itself to nobody.
/// - Throws: ``NotInTime`` when it did not hold within the time, else what the condition throws.
package func eventually(
    _ what: String = "the condition",
    within limit: Duration = .seconds(10),
    file: StaticString = #fileID,
    line: UInt = #line,
    _ condition: () async throws -> Bool
) async throws {
    let end = ContinuousClock.now + limit
    var pause = Duration.milliseconds(1)
    while try await !condition() {
        guard ContinuousClock.now < end else {
            throw NotInTime(description: "\(what) did not hold within \(limit) (\(file):\(line))")
        }
        try await Task.sleep(for: pause)
        pause = min(pause * 2, .milliseconds(50))
    }
}

/// A namespace (or key prefix) that no other test uses.
package func uniqueNamespace(_ label: String = "t") -> String {
    label + String(UInt64.random(in: .min ... .max), radix: 36)
}
