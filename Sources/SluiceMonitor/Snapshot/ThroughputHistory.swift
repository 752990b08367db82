/// The number of operations that ended in each second, for the sparkline.
///
/// The difference of two snapshots is spread evenly over the time between them.
struct ThroughputHistory: Sendable {
    private static let kept = 600

    /// The second of `columns[0]`.
    private var first = 0
    private var columns: [Double] = []

    /// Adds an amount to the time between two instants.
    mutating func add(_ amount: Double, from start: Duration, to end: Duration) {
        let (start, end) = (start.secondsAsDouble, end.secondsAsDouble)
        guard end > start, start >= 0, end - start < Double(Self.kept) else { return columns.removeAll() }
        if columns.isEmpty { first = Int(start) }
        guard Int(start) >= first else { return columns.removeAll() }
        while first + columns.count <= Int(end) { columns.append(0) }
        for second in Int(start)...Int(end) {
            let overlap = min(end, Double(second + 1)) - max(start, Double(second))
            columns[second - first] += amount * max(0, overlap) / (end - start)
        }
        if columns.count > Self.kept {
            first += columns.count - Self.kept
            columns.removeFirst(columns.count - Self.kept)
        }
    }

    /// The newest complete seconds, oldest first; fewer if the history is shorter.
    func newest(_ count: Int) -> [Double] { Array(columns.dropLast().suffix(max(0, count))) }
}

extension Duration {
    var secondsAsDouble: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}

/// Numbers as a row of small bars.
enum Sparkline {
    /// Draws bars relative to the greatest value. Zero has a bar as well, to differ from an unknown value.
    static func text(_ values: [Double], ascii: Bool) -> String {
        let steps: [Character] = ascii ? ["_", ".", "-", "=", "#"] : ["⣀", "⣠", "⣤", "⣶", "⣿"]
        let top = values.max() ?? 0
        return String(
            values.map { value in
                guard top > 0, value > 0 else { return steps[0] }
                return steps[min(steps.count - 1, 1 + Int(value / top * Double(steps.count - 1) - 0.001))]
            }
        )
    }
}
