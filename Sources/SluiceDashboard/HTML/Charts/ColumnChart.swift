/// Several series as columns, one on top of the other.
enum ColumnChart {
    static func markup(_ title: String, id: String, _ data: ChartData) -> Markup {
        let sums = data.places.indices.map { place in data.series.reduce(0) { $0 + max(0, $1.values[place] ?? 0) } }
        let most = sums.max() ?? 0
        return ChartFrame.markup(
            title,
            id: id,
            top: most > 0 ? data.text(most) : "nothing",
            data,
            table: ChartFrame.table(title, data)
        ) {
            ChartFrame.lines(data.marks, of: data.places.count)
            if most > 0 { data.places.indices.map { column($0, data, most: most) } }
            let y = ChartFrame.number(ChartFrame.height - 0.5)
            tag("path", .class("grid"), .named("d", "M0 \(y)H\(ChartFrame.number(ChartFrame.width))"))
            ChartFrame.hints(data)
        }
    }

    private static func column(_ place: Int, _ data: ChartData, most: Double) -> Markup {
        let start = ChartFrame.x(place, of: data.places.count)
        let width = ChartFrame.x(place + 1, of: data.places.count) - start
        var y = ChartFrame.height
        return parts {
            data.series.map { series in
                let value = max(0, series.values[place] ?? 0)
                guard value > 0 else { return .empty }
                // A small number next to large ones stays visible.
                let size = max(1.5, value / most * (ChartFrame.height - 2))
                y = max(0, y - size)
                return ChartFrame.rect("column \(series.look.rawValue)", start + width * 0.1, y, width * 0.8, size)
            }
        }
    }
}
