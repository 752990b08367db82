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
                // Only running takes the colour of its step; the time after a failure is spent waiting.
                let isRun = step.role == .executing
                return parts {
                    part(isRun ? "executing" : "plain", from: place.before, width: max(2, place.cells), step.text)
                    if !isRun, step.role != .plain {
                        part(step.role.className, from: place.before, width: 3, step.text)
                    }
                }
            }
        }
    }

    private static func part(_ role: String, from start: Int, width: Int, _ text: String) -> Markup {
        tag(
            "rect",
            .class(role),
            .named("x", "\(start)"),
            .named("y", "0"),
            .named("width", "\(width)"),
            .named("height", "12")
        ) { tag("title", text: text) }
    }
}
