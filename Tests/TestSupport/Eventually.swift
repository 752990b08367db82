import Dispatch

/// A wait that has given up.
package struct NotInTime: Error, CustomStringConvertible {
    package let description: String
}

/// How long a wait goes on without progress, and how long a test waits for an answer that the test is not about.
package let patience: Duration = .seconds(180)

/// Waits until a condition holds. Tests wait in this way for everything that sends no notification.
///
/// A wait gives up for want of progress: see ``Wait``.
/// - Throws: ``NotInTime`` with what the condition read last when the wait gives up, else what the condition throws.
package func eventually(
    _ what: String = "the condition",
    within limit: Duration = patience,
    file: StaticString = #fileID,
    line: UInt = #line,
    _ condition: () async throws -> Bool
) async throws {
    var wait = Wait(limit)
    while try await !Seen.$sightings.withValue(wait.sightings, operation: condition) {
        guard wait.goesOn(), !Task.isCancelled else {
            throw NotInTime(description: "\(what): \(wait.report) (\(file):\(line))")
        }
        await wait.pause()
    }
}

/// The same for `#expect`: whether the condition came true. Prints what the condition read last if the wait gives up.
package func comesTrue(
    within limit: Duration = patience,
    file: StaticString = #fileID,
    line: UInt = #line,
    _ condition: () async throws -> Bool
) async rethrows -> Bool {
    var wait = Wait(limit)
    while try await !Seen.$sightings.withValue(wait.sightings, operation: condition) {
        guard wait.goesOn(), !Task.isCancelled else {
            print("\(file):\(line): \(wait.report)")
            return false
        }
        await wait.pause()
    }
    return true
}

/// The same where a thread may be blocked.
package func comesTrueBlocking(within limit: Duration = patience, _ condition: () throws -> Bool) rethrows -> Bool {
    var wait = Wait(limit)
    while try !Seen.$sightings.withValue(wait.sightings, operation: condition) {
        guard wait.goesOn() else {
            print(wait.report)
            return false
        }
        wait.block()
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

/// Decides when a wait gives up: when nothing that the condition reads (``Seen``) has changed for the limit.
///
/// One look counts as a quarter of a second at most, so that a machine on which each look takes seconds waits longer. A wait whose
/// condition reads something that changes by itself, such as a time, gives up after ten limits.
struct Wait {
    private static let longestLook: Duration = .milliseconds(250)
    private static let limits = 10

    let sightings = Sightings()
    private let limit: Duration
    private var looks = 0
    private var unchanged: Duration = .zero
    private var total: Duration = .zero
    private var lastLook = ContinuousClock.now
    private let begin = ContinuousClock.now
    private var pace = Pace()

    init(_ limit: Duration) {
        self.limit = limit
        _ = MachinePace.shared
    }

    /// Call this after each look.
    mutating func goesOn() -> Bool {
        let now = ContinuousClock.now
        let passed = min(now - lastLook, Self.longestLook)
        lastLook = now
        looks += 1
        total += passed
        unchanged = sightings.haveChanged() ? .zero : unchanged + passed
        return unchanged < limit && total < limit * Self.limits
    }

    var report: String {
        let seconds = (lastLook - begin).components.seconds
        let last = sightings.last.isEmpty ? "" : "; seen last:\n\(sightings.last.joined(separator: "\n"))"
        return "not so after \(looks) looks in \(seconds) s, no progress for \(unchanged.components.seconds) s\(last)"
    }

    mutating func pause() async { await pace.wait() }
    mutating func block() { pace.block() }
}

/// Together with `takeTime` the only place in which tests let time pass. A server's start or another process's output sends no
/// notification, so a test has to look again; the pauses grow, so that looking does not keep a busy machine from getting there.
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
