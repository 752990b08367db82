/// The shortest time between a read and an earlier next read after a change.
///
/// A change after a quiet time is read after 250 ms. While changes go on, reads become rarer, down to one a second:
/// every read then shows something new, and more reads would only cost more.
struct HintPace: Sendable {
    private static let least = Duration.milliseconds(250)
    private static let most = Duration.seconds(1)

    private var gap = Self.least
    private var isHinted = false

    /// Notes that a read begins.
    mutating func begin() {
        gap = isHinted ? min(gap * 2, Self.most) : Self.least
        isHinted = false
    }

    /// Notes a change, to be read soon.
    ///
    /// - Returns: the time after the last read at which the next one may begin.
    mutating func hint() -> Duration {
        isHinted = true
        return gap
    }
}
