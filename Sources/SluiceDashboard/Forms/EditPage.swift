import Crypto
import Operations
import SluiceOperator
import TerminalText

/// The form that changes an operation that waits.
struct EditPage {
    let detail: OperationDetail
    let form: TypedForm
    let site: Site
    /// Why the last attempt changed nothing.
    var problem: String?

    init(_ detail: OperationDetail, _ site: Site, _ form: TypedForm? = nil, problem: String? = nil) {
        (self.detail, self.site, self.problem) = (detail, site, problem)
        let present: KeyValuePairs = [
            "priority": detail.record.header.priority.rawValue,
            "start": detail.dueText ?? "",
            "tags": detail.envelope.tags.joined(separator: "\n"),
        ]
        self.form = form ?? TypedForm(FormFields(present))
    }

    /// A digest of the record that the form was made of. A change is refused if it differs by then.
    static func version(_ detail: OperationDetail) -> String {
        var bytes: [UInt8] = []
        detail.record.header.write(into: &bytes)
        bytes += Array(detail.state.rawValue.utf8) + detail.record.envelope
        return SHA256.hash(data: bytes).prefix(12).map { String($0, radix: 36) }.joined(separator: "-")
    }

    /// Why tags cannot be changed here; nil = they can.
    static func reasonWithoutTags(_ detail: OperationDetail, _ seal: (any EnvelopeSeal)?) -> String? {
        do { _ = try detail.verifiedEnvelope(seal) } catch let error as OperationsError {
            return "The operation \(error.message)."
        } catch { return "\(error)" }
        let hasBreak = detail.envelope.tags.contains { $0.contains { $0.isNewline } }
        return hasBreak ? "A tag has a line break." : nil
    }

    private var address: String { "\(detail.queue)/\(detail.id)" }
    private var back: Link { site.links.to("ops", detail.id.description, query: ["queue": detail.queue]) }

    var content: PageContent {
        PageContent("Edit \(detail.title(site.options.view))", .operations, command: ["edit", address], isLive: false) {
            if let problem { Notice.markup(.bad, problem) }
            tag(
                "form",
                .class("panel confirm"),
                .named("method", "post"),
                .action(site.links.to("ops", detail.id.description, "edit", query: ["queue": detail.queue]))
            ) {
                tag("h1", text: "Edit this operation")
                subject
                if detail.state.isWaiting { fields }
                tag("div", .class("buttons")) {
                    if detail.state.isWaiting { tag("button", .class("main"), text: "Save") }
                    tag("a", .class("button"), .href(back), text: "Back")
                }
            }
        }
    }

    private var subject: Markup {
        tag("p") {
            tag("b", text: detail.title(site.options.view))
            " in queue \(detail.queue), "
            StateView.markup(detail.state)
            let tags = detail.envelope.tags
            " priority \(detail.record.header.priority.rawValue)"
                + (detail.dueText.map { ", start \($0)" } ?? "")
                + (tags.isEmpty ? "" : ", tags " + tags.joined(separator: ", "))
            " "
            tag("span", .class("id dim"), text: detail.id.description)
        }
    }

    @MarkupBuilder private var fields: Markup {
        OperationFields.hidden("version", Self.version(detail))
        OperationFields.priority(form)
        OperationFields.start(form)
        if let reason = Self.reasonWithoutTags(detail, site.client.seal) {
            tag("p", .class("dim"), text: "Tags cannot be changed here. \(reason)")
        } else {
            OperationFields.tags(form)
        }
        tag("p", .class("dim")) {
            "A ready operation with a new priority goes behind the others of that priority. "
            "Name, queue and arguments stay: to change them, cancel it and "
            tag(
                "a",
                .href(site.links.to("ops", detail.id.description, "rerun", query: ["queue": detail.queue])),
                text: "rerun it with edits"
            )
            "."
        }
    }
}
