import TerminalText

/// The names above the lines of marks. The newest names win where there is no room for all.
enum MarkLabels {
    /// The width of the longest name, in columns of text.
    private static let longest = 16
    /// The width of a column of text, as a percentage of the narrowest chart.
    private static let column = 1.8
    /// Names of marks behind this percentage end at the line, those before begin there.
    private static let turn = 55.0

    struct Label: Equatable {
        var text: String
        /// The position of the line, as a percentage.
        var x: Double
        var endsAtLine: Bool { x > MarkLabels.turn }

        /// The part of the width that the text covers.
        var extent: ClosedRange<Double> {
            let width = Double(text.displayWidth + 1) * MarkLabels.column
            return endsAtLine ? x - width...x : x...x + width
        }
    }

    /// The labels that have room, oldest first.
    static func shown(_ marks: [ChartData.Mark], of places: Int) -> [Label] {
        var shown: [Label] = []
        for mark in marks.sorted(by: { $0.position > $1.position }) {
            guard let text = mark.label else { continue }
            let x = mark.position / Double(max(1, places)) * 100
            let label = Label(text: text.truncated(toWidth: longest), x: x)
            if !shown.contains(where: { $0.extent.overlaps(label.extent) }) { shown.append(label) }
        }
        return shown.reversed()
    }

    @MarkupBuilder static func markup(_ marks: [ChartData.Mark], of places: Int) -> Markup {
        let labels = shown(marks, of: places)
        if !labels.isEmpty {
            tag("svg", .class("mark-labels"), .named("aria-hidden", "true")) {
                labels.map { label in
                    tag(
                        "text",
                        .class(label.endsAtLine ? "end" : ""),
                        .named("x", "\(ChartFrame.number(label.x))%"),
                        .named("y", "11"),
                        text: label.text
                    )
                }
            }
        }
    }
}
