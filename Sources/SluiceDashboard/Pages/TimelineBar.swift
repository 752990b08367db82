import SluiceOperator
import TerminalText

/// The steps of an operation as one bar, to scale.
enum TimelineBar {
    private static let width = 600

    static func markup(_ timeline: OperationTimeline) -> Markup {
        tag(
            "svg",
            .class("timeline"),
            .named("viewBox", "0 0 \(width) 12"),
            .named("preserveAspectRatio", "none"),
            .named("role", "img"),
            .named("aria-label", "The steps to scale; the list below has the times")
        ) {
            timeline.steps.map { step in
                let place = timeline.place(of: step, width: width)
                return tag(
                    "rect",
                    .class(step.role == .plain ? "plain" : step.role.className),
                    .named("x", "\(place.before)"),
                    .named("y", "0"),
                    .named("width", "\(max(2, place.cells))"),
                    .named("height", "12")
                ) { tag("title", text: step.text) }
            }
        }
    }
}
