/// Several series as lines. A place without a value interrupts its line.
enum LineChart {
    static func markup(_ title: String, id: String, _ data: ChartData) -> Markup {
        let values = data.series.flatMap(\.values).compactMap(\.self)
        let (low, high) = (min(0, values.min() ?? 0), max(0, values.max() ?? 0))
        let scale = Scale(low: low, span: max(high - low, .leastNonzeroMagnitude), count: data.places.count)
        let top = values.isEmpty ? "nothing" : data.text(high) + (low < 0 ? ", lowest \(data.text(low))" : "")
        return ChartFrame.markup(title, id: id, top: top, data, table: ChartFrame.table(title, data)) {
            tag("path", .class("grid"), .named("d", "M0 \(scale.y(0))H\(ChartFrame.number(ChartFrame.width))"))
            ChartFrame.lines(data.marks, of: data.places.count)
            // The first series lies on top, since the others contain it.
            data.series.reversed().map { series in
                let (line, dots) = scale.path(series.values)
                return parts {
                    tag("path", .class("line \(series.look.rawValue)"), .named("d", line))
                    if !dots.isEmpty { tag("path", .class("line dot \(series.look.rawValue)"), .named("d", dots)) }
                }
            }
            ChartFrame.hints(data)
        }
    }

    private struct Scale {
        var low: Double
        var span: Double
        var count: Int

        /// A line at the edge of the drawing would be cut in half.
        private static let edge = 2.0

        func y(_ value: Double) -> String {
            let room = ChartFrame.height - 2 * Self.edge
            return ChartFrame.number(Self.edge + room - (value - low) / span * room)
        }

        /// The line through the values, and dots for values without a neighbour.
        func path(_ values: [Double?]) -> (line: String, dots: String) {
            var (line, dots) = ("", "")
            for (place, value) in values.enumerated() {
                guard let value else { continue }
                let point = "\(x(place)) \(y(value))"
                let (begins, ends) = (
                    place == 0 || values[place - 1] == nil, values.dropFirst(place + 1).first.flatMap { $0 } == nil
                )
                if begins, ends { dots += "M\(point)h0.1" } else { line += (begins ? "M" : "L") + point }
            }
            return (line, dots)
        }

        private func x(_ place: Int) -> String {
            ChartFrame.number(ChartFrame.x(place, of: count) + ChartFrame.width / Double(max(1, count)) / 2)
        }
    }
}
