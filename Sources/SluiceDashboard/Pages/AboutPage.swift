import SluiceOperator
import TerminalText

/// The server, the namespace and the rights of the visitor.
struct AboutPage {
    let visit: Visit

    var content: PageContent {
        PageContent("About", .about, command: ["config", "show"], isLive: false) {
            tag("h1", text: "About")
            tag("section", .class("panel")) {
                tag("dl", .class("facts")) {
                    facts.map { name, value in
                        parts {
                            tag("dt", text: name)
                            tag("dd", text: value)
                        }
                    }
                }
            }
            tag("section", .class("panel")) {
                tag("h2", text: "For programs")
                tag("ul") {
                    api("stats", "counts, totals, queues: the JSON of sluice stats")
                    api("operations", "operations by query (q, limit, cursor): the JSON of sluice list")
                }
            }
        }
    }

    private func api(_ name: String, _ text: String) -> Markup {
        tag("li") {
            tag("a", .href(visit.links.to("api", "v1", name)), text: "/api/v1/\(name)")
            " \(text)"
        }
    }

    private var facts: [(String, String)] {
        let options = visit.site.options
        return [
            ("version", "sluice \(Program.version)"), ("namespace", options.namespace), ("Redis", options.place),
            ("you", visit.visitor.name),
            ("role", options.isReadOnly ? "viewer, because the dashboard is read-only" : visit.visitor.role.rawValue),
            ("reads Redis", "when a page is open, at most once in \(DurationText.exact(options.interval))"),
        ]
    }
}
