import TerminalText

/// The question before a change. A page of its own, so that no refresh replaces it.
struct ConfirmationPage {
    var place: NavigationPlace
    /// The question: `Cancel this operation?`
    var question: String
    /// The object of the change.
    var subject: Markup
    var effect: String
    /// Sentences about what the change does not achieve.
    var warnings: [String] = []
    /// The label of the button that makes the change.
    var button: String
    var isFinal: Bool
    var takesReason: Bool
    /// Whether the change is made by force.
    var isForced = false
    /// The page that makes the change.
    var target: Link
    /// The page to return to without a change.
    var back: Link
    var command: [String]

    var content: PageContent {
        PageContent(question, place, command: command, isLive: false) {
            tag("form", .class("panel confirm"), .named("method", "post"), .action(target)) {
                tag("h1", text: question)
                tag("p") { subject }
                tag("p", .class("dim"), text: effect)
                warnings.map { Notice.markup(.warning, $0) }
                if isForced { void("input", .named("type", "hidden"), .name("force"), .value("yes")) }
                if takesReason {
                    tag("label") {
                        "Reason, which others can read; may be empty"
                        void(
                            "input",
                            .named("type", "text"),
                            .name("reason"),
                            .named("maxlength", "500"),
                            .named("autocomplete", "off")
                        )
                    }
                }
                tag("div", .class("buttons")) {
                    tag("button", .class(isFinal ? "danger" : "main"), text: button)
                    tag("a", .class("button"), .href(back), text: "Back")
                }
            }
        }
    }
}
