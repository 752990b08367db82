import TerminalText

/// Counts by time and by range: a column for each time, a row for each range, the largest range on top.
enum HeatMap {
    /// The number of colours.
    private static let steps = 5

    /// - Parameters:
    ///   - counts: for each place of `data`, the count of each range.
    ///   - ranges: the names of the ranges, smallest first.
    static func markup(_ title: String, id: String, _ data: ChartData, counts: [[Int64]], ranges: [String]) -> Markup {
        let most = counts.joined().max() ?? 0
        return ChartFrame.markup(
            title,
            id: id,
            top: ranges.last.map { "up to \($0), darkest: \(QuantityText.grouped(most))" } ?? "nothing",
            data,
            table: table(title, data, counts, ranges)
        ) {
            counts.enumerated().map { place, column in
                let start = ChartFrame.x(place, of: counts.count)
                let width = ChartFrame.x(place + 1, of: counts.count) - start
                let height = ChartFrame.height / Double(max(1, ranges.count))
                return parts {
                    column.enumerated().map { range, count in
                        guard count > 0, ranges.indices.contains(range) else { return .empty }
                        let y = ChartFrame.height - Double(range + 1) * height
                        return ChartFrame.rect("heat heat-\(step(count, of: most))", start, y, width, height) {
                            tag(
                                "title",
                                text: "\(data.places[place]), \(ranges[range]): \(QuantityText.grouped(count))"
                            )
                        }
                    }
                }
            }
            ChartFrame.lines(data.marks, of: counts.count)
        }
    }

    private static func step(_ count: Int64, of most: Int64) -> Int {
        // The square root keeps rare long runs visible beside many short ones.
        let share = (Double(count) / Double(max(1, most))).squareRoot()
        return max(1, min(steps, Int((share * Double(steps)).rounded(.up))))
    }

    private static func table(_ title: String, _ data: ChartData, _ counts: [[Int64]], _ ranges: [String]) -> Markup {
        let rows = counts.enumerated().filter { $0.element.contains { $0 > 0 } }
        return TableView.markup(
            title,
            [data.axis, "Count by range"],
            rows.map { place, column in
                let texts = zip(ranges, column).filter { $0.1 > 0 }.map { "\($0): \(QuantityText.grouped($1))" }
                return [
                    .text(data.axis, data.places[place]),
                    Cell("Count by range", "wide") { texts.joined(separator: ", ") },
                ]
            }
        )
    }
}
