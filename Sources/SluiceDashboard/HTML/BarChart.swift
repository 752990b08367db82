import TerminalText

/// A chart of numbers over time, one bar for each.
enum BarChart {
    private static let height = 24.0

    /// - Parameters:
    ///   - label: the meaning in words, for screen readers.
    static func markup(_ values: [Double], label: String, classes: String = "spark") -> Markup {
        let most = values.max() ?? 0
        return tag(
            "svg",
            .class(classes),
            .named("viewBox", "0 0 \(max(1, values.count) * 4) \(Int(height))"),
            .named("preserveAspectRatio", "none"),
            .named("role", "img"),
            .named("aria-label", label)
        ) {
            tag("title", text: label)
            values.enumerated().map { index, value in bar(at: index, share: most > 0 ? value / most : 0) }
        }
    }

    private static func bar(at index: Int, share: Double) -> Markup {
        // An empty minute is a thin line, so that the time axis stays visible.
        let size = share > 0 ? max(2.5, share * height) : 1.5
        return tag(
            "rect",
            .class(share > 0 ? "bar" : "none"),
            .named("x", "\(index * 4)"),
            .named("width", "3"),
            .named("y", number(height - size)),
            .named("height", number(size))
        )
    }

    private static func number(_ value: Double) -> String { "\((value * 10).rounded() / 10)" }
}
