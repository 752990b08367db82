/// The query box of a list.
enum SearchForm {
    /// - Parameters:
    ///   - page: the page that shows the list.
    ///   - typed: the text in the box.
    ///   - placeholder: an example of a query.
    ///   - kept: the other fields of the page's address; those without a value are left out.
    static func markup(
        _ page: String,
        typed: String,
        placeholder: String,
        _ links: Links,
        keeping kept: [(name: StaticString, value: String?)] = []
    ) -> Markup {
        tag("form", .class("search"), .named("method", "get"), .action(links.to(page)), .named("role", "search")) {
            for field in kept {
                if let value = field.value { void("input", .named("type", "hidden"), .name(field.name), .value(value)) }
            }
            void(
                "input",
                .named("type", "search"),
                .id("query"),
                .name("q"),
                .value(typed),
                .named("aria-label", "Query"),
                .named("placeholder", placeholder),
                .named("autocomplete", "off"),
                .named("spellcheck", "false"),
                .url("data-suggest", links.to("live", "words"))
            )
            tag("button", text: "Search")
        }
    }
}
