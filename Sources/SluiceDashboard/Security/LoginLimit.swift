import Synchronization

/// Refuses logins from an address for a while after too many wrong secrets, so that none can be guessed.
final class LoginLimit: Sendable {
    /// The most wrong secrets of an address within the time below.
    static let most = 20
    static let span = Duration.seconds(60)
    /// The most addresses to remember. The oldest are forgotten first.
    private static let addresses = 10_000

    private struct Failures {
        var begin: ContinuousClock.Instant
        var count = 0
    }

    private let failures = Mutex<[String: Failures]>([:])

    /// Returns the time until the address may try again; nil = now.
    func wait(of address: String, at now: ContinuousClock.Instant = .now) -> Duration? {
        failures.withLock { failures in
            guard let known = failures[address], known.count >= Self.most, now - known.begin < Self.span else {
                return nil
            }
            return Self.span - (now - known.begin)
        }
    }

    /// Notes a wrong secret.
    func failed(_ address: String, at now: ContinuousClock.Instant = .now) {
        failures.withLock { failures in
            var known = failures[address] ?? Failures(begin: now)
            if now - known.begin >= Self.span { known = Failures(begin: now) }
            known.count += 1
            failures[address] = known
            if failures.count > Self.addresses, let oldest = failures.min(by: { $0.value.begin < $1.value.begin }) {
                failures[oldest.key] = nil
            }
        }
    }
}
