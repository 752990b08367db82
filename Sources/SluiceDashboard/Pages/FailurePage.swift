/// The page in place of one that cannot be shown.
struct FailurePage: Sendable {
    let failure: PageFailure
    let site: Site

    init(_ failure: PageFailure, _ site: Site) { (self.failure, self.site) = (failure, site) }

    var content: PageContent {
        PageContent(failure.title, isLive: false) {
            tag("section", .class("panel failure")) {
                tag("h1", text: failure.title)
                tag("p", text: failure.message)
                for note in failure.notes { tag("p", .class("dim"), text: note) }
                if failure.offersLogin { login }
                if let next = failure.next { tag("a", .class("button main"), .href(next.link), text: next.title) }
                if let command = failure.command { CommandLineView(site).markup(command) }
            }
        }
    }

    private var login: Markup {
        tag("form", .class("search"), .named("method", "post"), .action(site.links.to("login"))) {
            void(
                "input",
                .named("type", "password"),
                .name("token"),
                .named("aria-label", "Token"),
                .named("placeholder", "or your token"),
                .named("autocomplete", "current-password")
            )
            tag("button", .class("main"), text: "Log in")
        }
    }
}
