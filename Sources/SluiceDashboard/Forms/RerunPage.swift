import Operations
import SluiceOperator
import TerminalText

/// The form that enqueues an operation again, with edits.
struct RerunPage {
    let detail: OperationDetail
    let form: TypedForm
    let site: Site
    let queues: [String]
    /// Whether the visitor may change what the operation does.
    let mayChange: Bool
    /// Why the last attempt enqueued nothing.
    var problem: String?

    init(
        _ detail: OperationDetail,
        _ site: Site,
        _ form: TypedForm? = nil,
        queues: [String],
        mayChange: Bool,
        problem: String? = nil
    ) {
        (self.detail, self.site, self.queues, self.problem) = (detail, site, queues, problem)
        self.mayChange = mayChange
        let present: KeyValuePairs = [
            "id": OperationID().description,
            "name": detail.envelope.name,
            "queue": detail.queue,
            "arguments": Self.arguments(detail, site) ?? "",
            "priority": detail.record.header.priority.rawValue,
            "tags": detail.envelope.tags.joined(separator: "\n"),
        ]
        self.form = form ?? TypedForm(FormFields(present))
    }

    /// The arguments as text to edit; nil = a part of them is hidden here, so that the text is not theirs.
    static func arguments(_ detail: OperationDetail, _ site: Site) -> String? {
        let shown = detail.reading(site.options.view)
        guard shown.hiddenArguments == nil, let stored = try? detail.verifiedEnvelope(site.client.seal),
            let value = try? JSONValue(parsing: stored.arguments),
            value == (try? JSONValue(parsing: shown.envelope.arguments))
        else { return nil }
        return value.prettySerialized()
    }

    private var back: Link { site.links.to("ops", detail.id.description, query: ["queue": detail.queue]) }
    private var title: String { detail.title(site.options.view) }

    var content: PageContent {
        PageContent(
            "Rerun \(title)",
            .operations,
            command: ["rerun", "\(detail.queue)/\(detail.id)", "-e"],
            isLive: false
        ) {
            if let problem { Notice.markup(.bad, problem) }
            tag(
                "form",
                .class("panel confirm"),
                .named("method", "post"),
                .action(site.links.to("ops", detail.id.description, "rerun", query: ["queue": detail.queue]))
            ) {
                tag("h1", text: "Enqueue this operation again?")
                tag("p") {
                    "This enqueues a copy with a new id, which stores the id of this operation: "
                    tag("b", text: title)
                    " in queue \(detail.queue), "
                    StateView.markup(detail.state)
                    " "
                    tag("span", .class("id dim"), text: detail.id.description)
                }
                fields
                tag("div", .class("buttons")) {
                    tag("button", .class("main"), text: "Enqueue")
                    tag("a", .class("button"), .href(back), text: "Back")
                }
            }
        }
    }

    /// The fields that say what the new operation does.
    @MarkupBuilder private var work: Markup {
        if !mayChange {
            OperationFields.hidden("name", form.text("name"))
            OperationFields.hidden("queue", form.text("queue"))
            OperationFields.hidden("arguments", form.text("arguments"))
            tag("p", .class("dim"), text: "Name, queue and arguments stay; an admin may change them.")
        } else {
            FormField("Name", "name", form).line()
            OperationFields.queue(form, known: queues)
            if Self.arguments(detail, site) == nil {
                tag("p", .class("dim"), text: "Arguments are hidden here, so the new operation gets them unchanged.")
            } else {
                FormField("Arguments", "arguments", form, about: "JSON").area(rows: 10)
            }
        }
    }

    @MarkupBuilder private var fields: Markup {
        OperationFields.hidden("id", form.text("id"))
        work
        OperationFields.priority(form)
        OperationFields.start(form)
        OperationFields.tags(form)
        tag(
            "p",
            .class("dim"),
            text: "Headers, attempts and the run time limit are copied. Unique keys and dependencies are not."
        )
    }
}
