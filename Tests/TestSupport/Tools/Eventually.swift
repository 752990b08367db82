import Dispatch

/// A wait that gave up.
public struct NotInTime: Error, CustomStringConvertible {
    public let description: String
}

/// The time without progress after which a wait gives up, and the longest wait for an answer that a test does not
/// examine.
public let patience: Duration = .seconds(180)

/// Waits until a condition holds. Tests wait like this for states that send no notification.
///
/// A wait gives up if it sees no progress: see ``Wait``.
/// - Throws: ``NotInTime`` with the last readings of the condition when the wait gives up, or the error of the
///   condition.
public func eventually(
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

/// Waits for a condition inside `#expect`, and returns whether it came true. Prints the last readings if the wait gives
/// up.
public func comesTrue(
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

/// Waits like `comesTrue`, on a thread that may be blocked.
public func comesTrueBlocking(within limit: Duration = patience, _ condition: () throws -> Bool) rethrows -> Bool {
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

/// Repeats an action until its task is cancelled, for a lasting fault.
/// - Returns: the sum of the results.
public func repeatedly(_ body: () throws -> Int) async rethrows -> Int {
    var sum = 0
    var pace = Pace()
    while !Task.isCancelled {
        sum += try body()
        await pace.wait()
        pace.reset()
    }
    return sum
}

/// Simulates the work of an operation for a test that only needs its duration.
public func takeTime(_ duration: Duration) async {
    try? await ContinuousClock().sleep(for: duration)
}

/// Waits until the task is cancelled, and then throws.
public func untilCancelled() async throws {
    let (never, continuation) = AsyncStream<Never>.makeStream()
    for await _ in never {}
    withExtendedLifetime(continuation) {}
    throw CancellationError()
}

/// Decides when a wait gives up: when no reading of the condition (``Seen``) has changed for the limit.
///
/// One check counts as a quarter of a second at most, so that a machine on which each check takes seconds waits longer.
/// Some conditions read a value that changes by itself, such as a time. A wait for such a condition gives up after ten
/// limits.
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

    /// Notes a check, and returns whether to go on. Call this after each check.
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

/// Pauses between checks. Apart from `takeTime`, tests let time pass nowhere else.
///
/// The start of a server and the output of another process send no notification, so a test checks repeatedly. The
/// pauses grow, so that the checks do not slow down a busy machine.
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
public func uniqueNamespace(_ label: String = "t") -> String {
    label + String(UInt64.random(in: .min ... .max), radix: 36)
}
