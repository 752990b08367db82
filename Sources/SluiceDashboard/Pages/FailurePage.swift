/// The page in place of one that cannot be shown.
struct FailurePage: Sendable {
    let failure: PageFailure

    init(_ failure: PageFailure) { self.failure = failure }

    var content: PageContent {
        PageContent(failure.title, isLive: false) {
            tag("section", .class("panel failure")) {
                tag("h1", text: failure.title)
                tag("p", text: failure.message)
                for note in failure.notes { tag("p", .class("dim"), text: note) }
                if let command = failure.command { CommandLineView.markup(command) }
            }
        }
    }
}
