import Operations
import SluiceOperator
import TerminalText

/// The form of a new operation. Without a script, its name and queue are chosen first.
struct NewOperationPage {
    let site: Site
    let board: Board?
    let form: TypedForm
    let arguments: ArgumentFields
    var problem: Markup?

    private var queues: [String] { board?.snapshot.queues.map(\.queue) ?? [] }
    private var place: Link { site.links.to("ops", "new") }

    // MARK: Name and queue

    var choice: PageContent {
        PageContent("New operation", .operations, command: ["enqueue", "NAME"], isLive: false) {
            tag("form", .class("panel confirm"), .named("method", "get"), .action(place)) {
                tag("h1", text: "New operation")
                tag(
                    "p",
                    .class("dim"),
                    text: "The next page has fields for the arguments of recent operations with this name."
                )
                FormField("Name", "name", form).line(list: "names")
                OperationFields.suggestions("names", site.words.names(board))
                FormField("Queue", "queue", form).line(list: "queues")
                OperationFields.suggestions("queues", queues)
                tag("div", .class("buttons")) {
                    tag("button", .class("main"), text: "Continue")
                    tag("a", .class("button"), .href(site.links.to("ops")), text: "Back")
                }
            }
        }
    }

    // MARK: Form

    var content: PageContent {
        let (name, queue) = (form.line("name"), form.line("queue"))
        return PageContent("New \(name)", .operations, command: ["enqueue", name, "-q", queue], isLive: false) {
            problem
            tag("form", .class("panel confirm"), .named("method", "post"), .action(place)) {
                tag("h1", text: "New \(name)")
                if board?.snapshot.queues.first(where: { $0.queue == queue })?.paused ?? false {
                    tag(
                        "p",
                        .class("warning"),
                        text: "Queue \(queue) is paused, so the operation waits until it is resumed."
                    )
                }
                fields
                tag("div", .class("buttons")) {
                    tag("button", .class("main"), text: "Enqueue")
                    tag(
                        "a",
                        .class("button"),
                        .href(site.links.to("ops", "new", query: ["queue": queue])),
                        text: "Another name"
                    )
                }
            }
        }
    }

    @MarkupBuilder private var fields: Markup {
        OperationFields.hidden("id", form.text("id"))
        FormField("Name", "name", form).line()
        OperationFields.queue(form, known: queues)
        arguments.markup(form)
        FormField(
            arguments.fields.isEmpty ? "Arguments" : "More arguments",
            "arguments",
            form,
            about: arguments.fields.isEmpty
                ? "JSON; no operation of this name is known here" : "JSON; fields above replace values in it"
        ).area(rows: 4)
        OperationFields.priority(form)
        OperationFields.start(form)
        FormField("Unique key", "unique", form, about: "at most one unfinished operation of the queue has it").line()
        OperationFields.tags(form)
    }
}
