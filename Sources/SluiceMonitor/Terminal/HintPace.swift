/// The shortest time between a read and one that a change has brought forward.
///
/// A change after a quiet time is read after 250 ms. While changes never stop, reads become rarer, down to one a second: then every read shows
/// something new, and more of them would only cost more.
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

    /// Notes a change.
    ///
    /// - Returns: how long after the last read the next one may begin.
    mutating func hint() -> Duration {
        isHinted = true
        return gap
    }
}
