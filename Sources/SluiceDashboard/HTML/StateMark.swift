import Operations
import TerminalText

/// The mark of a state, for which no screen reader needs a word.
///
/// An expired operation has a drawing, because few fonts have the character that the terminal shows.
enum StateMark {
    static func markup(_ state: OperationState) -> Markup {
        tag("span", .class("mark"), .named("aria-hidden", "true")) {
            if state == .expired { hourglass } else { state.mark() }
        }
    }

    private static var hourglass: Markup {
        tag("svg", .class("hourglass"), .named("aria-hidden", "true"), .named("viewBox", "0 0 10 12")) {
            tag("path", .named("d", hourglassPath))
        }
    }

    /// The outline of an hourglass, 10 wide and 12 high.
    static let hourglassPath = "M1.5 1H8.5L1.5 11H8.5Z"
}
