import Foundation

/// The limits for times and durations from outside: flags, batch lines, settings and the Swift API.
///
/// A duration is at most 100 years, and a start is at most 100 years away. Within these limits no sum of times
/// overflows, and each instant fits its stored field.
package enum TimeLimit {
    /// `SluiceDefaults.longestDuration`.
    package static let milliseconds = SluiceDefaults.longestDuration.wholeMilliseconds

    /// The least allowed duration.
    package enum Least: Sendable {
        case zero
        case moreThanZero
    }

    /// Checks a duration. Nil means no limit, and is always allowed.
    ///
    /// - Parameters:
    ///   - duration: the duration to check.
    ///   - role: what the duration is for, as the subject of the error's sentence ("the run timeout").
    ///   - least: whether zero is allowed.
    /// - Throws: `.invalidOption` with the role and the value.
    package static func check(
        _ duration: Duration?,
        _ role: String,
        least: Least = .moreThanZero
    ) throws(OperationsError) {
        guard let duration else { return }
        let isLongEnough = least == .zero ? duration >= .zero : duration > .zero
        guard !isLongEnough || duration > SluiceDefaults.longestDuration else { return }
        let bounds = least == .zero ? "0 to 100 years" : "more than zero, at most 100 years"
        throw OperationsError(.invalidOption, "\(role) is \(duration): use \(bounds)")
    }

    /// The delay until a start.
    ///
    /// - Parameters:
    ///   - instant: milliseconds since 1970.
    ///   - now: milliseconds since 1970 by the clock that counts the delay.
    /// - Returns: milliseconds, 0 for an instant in the past.
    /// - Throws: `.invalidOption` if the start is more than 100 years away.
    package static func delay(until instant: Double, now: Int64) throws(OperationsError) -> Int64 {
        let distance = instant - Double(now)
        // Also false for NaN.
        guard distance <= Double(milliseconds) else {
            throw OperationsError(.invalidOption, "the start is more than 100 years away: use a date before that")
        }
        return Int64(max(0, distance))
    }
}

extension SluiceDefaults {
    /// The longest accepted duration, and the largest delay until a start: 100 years of 365 days.
    public static let longestDuration: Duration = .seconds(100 * 365 * 86_400)
}

extension Duration {
    /// The duration limited to 100 years, for code that cannot throw.
    package var limited: Duration {
        min(max(self, .zero - SluiceDefaults.longestDuration), SluiceDefaults.longestDuration)
    }

    /// Whole milliseconds, rounded up so that a pause is never too short; at most 100 years.
    package var wholeMilliseconds: Int64 {
        let (seconds, attoseconds) = limited.components
        let per = Int64(1_000_000_000_000_000)
        return seconds * 1000 + attoseconds / per + (attoseconds % per > 0 ? 1 : 0)
    }

    /// Seconds as a floating point number; at most 100 years.
    package var inSeconds: Double {
        let (seconds, attoseconds) = limited.components
        return Double(seconds) + Double(attoseconds) / 1e18
    }
}
