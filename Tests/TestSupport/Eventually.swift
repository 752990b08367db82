import Dispatch

/// What a test waited for in vain.
package struct NotInTime: Error, CustomStringConvertible {
    package let description: String
}

/// Waits until a condition holds. The only way in which tests wait for something that sends no notification. The limit is for
/// what never comes: a busy machine may be slow.
/// - Throws: ``NotInTime`` when it did not hold within the time, else what the condition throws.
package func eventually(
    _ what: String = "the condition",
    within limit: Duration = .seconds(180),
    file: StaticString = #fileID,
    line: UInt = #line,
    _ condition: () async throws -> Bool
) async throws {
    guard try await comesTrue(within: limit, condition) else {
        throw NotInTime(description: "\(what) did not hold within \(limit) (\(file):\(line))")
    }
}

/// How long a test waits for a first answer that is not what it is about. A busy machine may take many seconds.
package let patience: Duration = .seconds(180)

/// The same for `#expect`: whether the condition came true within the time.
package func comesTrue(
    within limit: Duration = .seconds(180),
    _ condition: () async throws -> Bool
) async rethrows -> Bool {
    let end = ContinuousClock.now + limit
    var pace = Pace()
    while try await !condition() {
        guard ContinuousClock.now < end, !Task.isCancelled else { return false }
        await pace.wait()
    }
    return true
}

/// The same where a thread may be blocked.
package func comesTrueBlocking(within limit: Duration = .seconds(180), _ condition: () throws -> Bool) rethrows -> Bool
{
    let end = ContinuousClock.now + limit
    var pace = Pace()
    while try !condition() {
        guard ContinuousClock.now < end else { return false }
        pace.block()
    }
    return true
}

/// Does something again and again until its task is cancelled: a fault that does not go away.
/// - Returns: what it added up to.
package func repeatedly(_ body: () throws -> Int) async rethrows -> Int {
    var sum = 0
    var pace = Pace()
    while !Task.isCancelled {
        sum += try body()
        await pace.wait()
        pace.reset()
    }
    return sum
}

/// What an operation does of which a test needs to know only how long it takes.
package func takeTime(_ duration: Duration) async {
    try? await ContinuousClock().sleep(for: duration)
}

/// Ends when its task is cancelled, by throwing.
package func untilCancelled() async throws {
    let (never, continuation) = AsyncStream<Never>.makeStream()
    for await _ in never {}
    withExtendedLifetime(continuation) {}
    throw CancellationError()
}

/// Together with `takeTime` the only place in which tests let time pass. A server's start or another process's output sends no notification, so it has to
/// be looked for; the pauses grow, so that looking does not keep a busy machine from getting there.
private struct Pace {
    private static let first: Duration = .milliseconds(1)
    private static let longest: Duration = .milliseconds(50)
    private var pause = Pace.first

    mutating func reset() { pause = Self.first * 4 }

    mutating func wait() async {
        try? await ContinuousClock().sleep(for: next())
    }

    mutating func block() {
        _ = DispatchSemaphore(value: 0).wait(timeout: .now() + .nanoseconds(Int(next() / .nanoseconds(1))))
    }

    private mutating func next() -> Duration {
        defer { pause = min(pause * 2, Self.longest) }
        return pause
    }
}

/// A namespace (or key prefix) that no other test uses.
package func uniqueNamespace(_ label: String = "t") -> String {
    label + String(UInt64.random(in: .min ... .max), radix: 36)
}
