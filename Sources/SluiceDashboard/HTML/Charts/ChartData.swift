/// The numbers of a chart: a row for each place of the horizontal axis, a column for each series.
struct ChartData {
    struct Series {
        var name: String
        var look: Look
        /// A value for each place; nil = none.
        var values: [Double?]

        init(_ name: String, _ look: Look, _ values: [Double?]) {
            (self.name, self.look, self.values) = (name, look, values)
        }
    }

    /// The colour and dashes of a series: a class of the style sheet.
    enum Look: String { case first, second, third, good, bad, warning }

    /// An event beside the numbers.
    struct Mark {
        /// The position between the places; 0 = the beginning of the first one.
        var position: Double
        var text: String
        /// A name to show above the line; nil = none.
        var label: String?
    }

    /// The title of the column of places in the table.
    var axis = "Time (UTC)"
    var places: [String]
    /// The labels under the two ends of the horizontal axis.
    var ends: (String, String)
    var series: [Series]
    var marks: [Mark] = []
    var text: (Double) -> String

    /// The name of the place in the middle of the horizontal axis; empty if there are too few places to have one.
    var middle: String { places.count < 4 ? "" : places[places.count / 2] }

    var isEmpty: Bool { series.allSatisfy { $0.values.allSatisfy { ($0 ?? 0) == 0 } } }

    /// Some names of the values of a place: `p50 12ms, p95 1.2s`.
    func sentence(at place: Int) -> String {
        let values = series.compactMap { series in series.values[place].map { "\(series.name) \(text($0))" } }
        return "\(places[place]): " + (values.isEmpty ? "nothing" : values.joined(separator: ", "))
    }
}

/// The events that the charts of a page have as lines.
enum MarkList {
    @MarkupBuilder static func markup(_ title: String, _ marks: [ChartData.Mark]) -> Markup {
        if !marks.isEmpty {
            tag("section", .class("starts panel")) {
                tag("h2", text: title)
                tag("ul") { marks.map { tag("li", text: $0.text) } }
            }
        }
    }
}

/// The frame of a chart: title, names of the series, labels of the axes, and the table of its numbers.
enum ChartFrame {
    static let (width, height) = (600.0, 120.0)

    /// - Parameters:
    ///   - id: the name of the table's fold, which stays open when the page is read again.
    ///   - top: the label of the upper end of the vertical axis.
    static func markup(
        _ title: String,
        id: String,
        top: String,
        _ data: ChartData,
        table: Markup,
        @MarkupBuilder drawing: () -> Markup
    ) -> Markup {
        tag("figure", .class("chart panel")) {
            tag("figcaption") {
                tag("h2", text: title)
                if data.series.count > 1 { keys(data.series) }
            }
            tag("div", .class("top-label dim"), text: top)
            MarkLabels.markup(data.marks, of: data.places.count)
            tag(
                "svg",
                .class("plot"),
                .named("viewBox", "0 0 \(number(width)) \(number(height))"),
                .named("preserveAspectRatio", "none"),
                .named("role", "img"),
                .named("aria-label", "\(title), \(data.ends.0) to \(data.ends.1); the table below has the numbers")
            ) { drawing() }
            tag("div", .class("axis dim")) {
                [data.ends.0, data.middle, data.ends.1].map { tag("span", text: $0) }
            }
            tag("details", .id(id)) {
                tag("summary", text: "Table")
                table
            }
        }
    }

    private static func keys(_ series: [ChartData.Series]) -> Markup {
        tag("ul", .class("keys")) {
            series.map { series in
                tag("li", .class(series.look.rawValue)) {
                    tag("svg", .named("viewBox", "0 0 18 8"), .named("aria-hidden", "true")) {
                        tag("path", .class("line"), .named("d", "M0 4H18"))
                    }
                    series.name
                }
            }
        }
    }

    /// The marks as lines over the whole height.
    static func lines(_ marks: [ChartData.Mark], of places: Int) -> Markup {
        parts {
            marks.map { mark in
                let x = number(mark.position / Double(max(1, places)) * width)
                return tag(
                    "path",
                    .class(mark.label == nil ? "mark-line" : "mark-line named"),
                    .named("d", "M\(x) 0V\(number(height))")
                ) {
                    tag("title", text: mark.text)
                }
            }
        }
    }

    /// An area over each place, which shows its numbers to the pointer.
    static func hints(_ data: ChartData) -> Markup {
        parts {
            data.places.indices.map { place in
                let (start, end) = (x(place, of: data.places.count), x(place + 1, of: data.places.count))
                return rect("hint", start, 0, end - start, height) { tag("title", text: data.sentence(at: place)) }
            }
        }
    }

    /// A row for each place with a value.
    static func table(_ title: String, _ data: ChartData) -> Markup {
        let rows = data.places.indices.filter { place in data.series.contains { ($0.values[place] ?? 0) != 0 } }
        return TableView.markup(
            title,
            [data.axis] + data.series.map(\.name),
            rows.map { place in
                [Cell.text(data.axis, data.places[place])]
                    + data.series.map { series in
                        Cell.measure(series.name, series.values[place].map(data.text) ?? "–")
                    }
            }
        )
    }

    /// The beginning of a place on the horizontal axis.
    static func x(_ place: Int, of count: Int) -> Double { Double(place) / Double(max(1, count)) * width }

    static func rect(
        _ classes: String,
        _ x: Double,
        _ y: Double,
        _ width: Double,
        _ height: Double,
        @MarkupBuilder content: () -> Markup = { .empty }
    ) -> Markup {
        tag(
            "rect",
            .class(classes),
            .named("x", number(x)),
            .named("y", number(y)),
            .named("width", number(width)),
            .named("height", number(height)),
            content: content
        )
    }

    static func number(_ value: Double) -> String {
        let rounded = (value * 10).rounded() / 10
        return rounded == rounded.rounded() ? "\(Int(rounded))" : "\(rounded)"
    }
}
