import HTTPTypes
import Hummingbird
import Operations
import SluiceOperator
import Testing

@testable import SluiceDashboard

@Suite("Forms of operations in the dashboard", .timeLimit(.minutes(60)))
struct FormTests {
    private static let hostile = "</textarea><script>alert(1)</script>\"'&"

    private func form(_ fields: KeyValuePairs<String, String>) -> String {
        Links(basePath: "").link([], fields.map { ($0.key, $0.value) }).text.replacing("/?", with: "")
    }

    private func form(of fields: [String: String]) -> String {
        Links(basePath: "").link([], fields.map { ($0.key, $0.value) }).text.replacing("/?", with: "")
    }

    /// The value of a hidden field of a page.
    private func hidden(_ name: String, _ page: String) throws -> String {
        let parts = page.split(separator: "name=\"\(name)\" value=\"")
        return String(try #require(parts.dropFirst().first).prefix { $0 != "\"" })
    }

    private func detail(_ id: String, _ desk: Desk) async throws -> OperationDetail {
        let id = try #require(OperationID(id))
        return try #require(try await desk.detail(id))
    }

    // MARK: Edit

    @Test("An edit changes priority, start and tags, keeps the arguments, and is an event with the person's name")
    func edits() async throws {
        let desk = Desk()
        let id = try await desk.enqueue("Send", arguments: ["to": "ann"], tags: ["a"])[0]
        let page = try await desk("/ops/\(id)/edit?queue=mail", as: .operate).text
        let fields = form([
            "version": try hidden("version", page), "priority": "high", "start": "2h", "tags": "b\r\nc d\r\n",
        ])
        let answer = try await desk("/ops/\(id)/edit?queue=mail", .post, as: .operate, form: fields)
        #expect(answer.status == 303 && answer.location.hasSuffix("outcome=edited"))
        let detail = try #require(try await desk.detail(id))
        #expect(detail.record.header.priority == .high && detail.state == .scheduled)
        #expect(detail.envelope.tags == ["b", "c d"])
        #expect(detail.envelope.arguments == Array(#"{"to":"ann"}"#.utf8))
        #expect(try await desk("/events?since=24h&changes=only").text.contains("ann"))
        // The page was made of another version.
        let again = try await desk("/ops/\(id)/edit?queue=mail", .post, form: fields)
        #expect(again.status == 409 && again.text.contains("has changed since") && again.text.contains("c d"))
    }

    @Test("An edit that changes nothing, or has a wrong value, keeps what was typed")
    func wrongEdits() async throws {
        let desk = Desk()
        let id = try await desk.enqueue("Send")[0]
        let record = try await desk.detail(id)
        let path = "/ops/\(id)/edit?queue=mail"
        let version = try hidden("version", try await desk(path).text)
        #expect(try await desk(path, .post, form: form(["version": version, "priority": "normal"])).status == 409)
        for (field, value) in [("start", "soon"), ("priority", "urgent"), ("tags", String(repeating: "x", count: 65))] {
            let fields = form(["version": version, field: value, "priority": "low"])
            let answer = try await desk(
                path,
                .post,
                form: field == "priority" ? form(["version": version, field: value]) : fields
            )
            #expect(answer.status == 400 && answer.text.contains("aria-invalid=\"true\""), "\(field)")
            if field != "priority" { #expect(answer.text.contains(value)) }
        }
        let past = form(["version": version, "priority": "normal", "start": "2020-01-01T00:00:00Z"])
        #expect(try await desk(path, .post, form: past).text.contains("which is in the past"))
        #expect(try await desk.detail(id) == record)
    }

    @Test("An operation that starts or ends meanwhile is not edited, and the page says why")
    func lateEdits() async throws {
        let desk = Desk()
        let id = try await desk.enqueue("Send")[0]
        let path = "/ops/\(id)/edit?queue=mail"
        let version = try hidden("version", try await desk(path).text)
        _ = try await desk.broker.cancel([id], request: CancelRequest(reason: "", by: "x"), queue: "mail")
        let answer = try await desk(path, .post, form: form(["version": version, "priority": "high"]))
        #expect(answer.status == 409 && answer.text.contains("is cancelled by now"))
        #expect(try await desk(path).status == 409)
    }

    @Test("With hidden arguments, an edit and a rerun keep the stored ones, and sent arguments are refused")
    func redaction() async throws {
        let desk = Desk(view: PayloadView(redaction: try Redaction(parsing: "args.token", hidesAll: false)))
        let id = try await desk.enqueue("Send", arguments: ["token": "s3cret", "to": "ann"])[0]
        let stored = try #require(try await desk.detail(id)).envelope.arguments
        let edit = try await desk("/ops/\(id)/edit?queue=mail").text
        let changed = form(["version": try hidden("version", edit), "priority": "normal", "tags": "new"])
        #expect(try await desk("/ops/\(id)/edit?queue=mail", .post, form: changed).status == 303)
        #expect(try #require(try await desk.detail(id)).envelope.arguments == stored)

        let rerun = try await desk("/ops/\(id)/rerun?queue=mail").text
        #expect(!rerun.contains("s3cret") && rerun.contains("Arguments are hidden here"))
        let new = try hidden("id", rerun)
        var fields: KeyValuePairs = [
            "id": new, "name": "Send", "queue": "mail", "priority": "normal", "arguments": "{}",
        ]
        #expect(try await desk("/ops/\(id)/rerun?queue=mail", .post, form: form(fields)).status == 400)
        fields = ["id": new, "name": "Send", "queue": "mail", "priority": "normal"]
        #expect(try await desk("/ops/\(id)/rerun?queue=mail", .post, form: form(fields)).status == 303)
        let copy = try await detail(new, desk)
        #expect(copy.envelope.arguments == stored && copy.envelope.rerunOf == id)
    }

    // MARK: Rerun

    @Test("A rerun with edits is a new operation that names the old one, and a form sent twice enqueues once")
    func reruns() async throws {
        let desk = Desk()
        let id = try await desk.enqueue("Send", arguments: ["to": "ann"], tags: ["a"])[0]
        let path = "/ops/\(id)/rerun?queue=mail"
        let page = try await desk(path).text
        #expect(page.contains("&quot;to&quot;: &quot;ann&quot;"))
        let new = try hidden("id", page)
        let fields = form([
            "id": new, "name": "Send", "queue": "mail", "arguments": #"{"to":"bob"}"#, "priority": "low", "tags": "a",
        ])
        #expect(try await desk(path, .post, form: fields).location.hasSuffix("outcome=rerun"))
        let copy = try await detail(new, desk)
        #expect(copy.envelope.rerunOf == id && copy.envelope.arguments == Array(#"{"to":"bob"}"#.utf8))
        #expect(copy.record.header.priority == .low && copy.envelope.tags == ["a"])
        #expect(copy.envelope.headers["enqueued-by"] == "ann")
        #expect(try await desk(path, .post, form: fields).text.contains("This is already enqueued"))
        #expect(try await desk.broker.snapshot(queue: "mail", executingRows: 0).counts[.ready] == 2)
        #expect(try #require(try await desk.detail(id)).envelope.rerunOf == nil)
    }

    @Test("A form that is sent again because Redis did not answer is the person's, and has one event")
    func unknownOutcome() async throws {
        let desk = Desk()
        let id = try await desk.enqueue("Send")[0]
        let path = "/ops/\(id)/rerun?queue=mail"
        let new = try hidden("id", try await desk(path).text)
        let fields = form(["id": new, "name": "Send", "queue": "mail", "arguments": "{}", "priority": "normal"])
        let copy = NewOperation(id: OperationID(new)!, envelope: OperationEnvelope(name: "Send").encoded())
        _ = try await desk.broker.enqueue([copy], queue: "mail")
        desk.site.unknownOutcomes.add(copy.id)
        #expect(try await desk(path, .post, form: fields).location.hasSuffix("outcome=rerun"))
        #expect(try await desk(path, .post, form: fields).status == 409)
        let events = try await desk.broker.storedEvents(queue: "mail", after: nil, agoMilliseconds: .max / 2, limit: 9)
        #expect(events.entries.count { $0.batch.change?.verb == .rerun } == 1)
    }

    @Test("An operator repeats an operation as it was, and changes neither its name nor its queue nor its arguments")
    func operatorReruns() async throws {
        let desk = Desk()
        let id = try await desk.enqueue("Send", arguments: ["to": "ann"])[0]
        try await desk.enqueue("Other", queue: "other")
        let path = "/ops/\(id)/rerun?queue=mail"
        let page = try await desk(path, as: .operate).text
        #expect(page.contains("an admin may change them") && !page.contains("<textarea name=\"arguments\""))
        var fields = ["id": try hidden("id", page), "name": "Send", "queue": "mail", "priority": "low"]
        fields["arguments"] = "{\r\n  \"to\": \"ann\"\r\n}"
        for (field, value) in [("name", "exec"), ("queue", "other"), ("arguments", #"{"argv":["id"]}"#)] {
            var wrong = fields
            wrong[field] = value
            #expect(try await desk(path, .post, as: .operate, form: form(of: wrong)).status == 403, "\(field)")
        }
        #expect(try await desk.broker.snapshot(queue: "mail", executingRows: 0).counts[.ready] == 1)
        let answer = try await desk(path, .post, as: .operate, form: form(of: fields))
        #expect(answer.location.hasSuffix("outcome=rerun"), "\(answer.status)")
        let copy = try await detail(try #require(fields["id"]), desk)
        #expect(copy.envelope.arguments == Array(#"{"to":"ann"}"#.utf8))
    }

    @Test("Wrong JSON and a wrong queue are shown beside their fields, with what was typed")
    func wrongReruns() async throws {
        let desk = Desk()
        let id = try await desk.enqueue("Send")[0]
        let path = "/ops/\(id)/rerun?queue=mail"
        let new = try hidden("id", try await desk(path).text)
        let fields = form([
            "id": new, "name": "Send", "queue": "mial", "arguments": "{\"to\":" + Self.hostile, "priority": "low",
        ])
        let answer = try await desk(path, .post, form: fields)
        #expect(answer.status == 400 && answer.text.contains("There is no queue mial"))
        #expect(answer.text.contains("&lt;/textarea&gt;") && !answer.text.contains("<script>"))
        #expect(try await desk.broker.queues() == ["mail"])
        #expect(try await desk(path, .post, form: "name=Send&queue=mail&arguments=1&priority=low").status == 400)
    }

    // MARK: New

    @Test(
        "The form of a new operation has fields for the arguments of the last ones, and enqueues them with their types"
    )
    func enqueues() async throws {
        let desk = Desk()
        try await desk.enqueue("Send", arguments: ["to": "ann", "count": 2, "html": true, "parts": [1]])
        #expect(try await desk("/ops/new").text.contains("name=\"name\""))
        let page = try await desk("/ops/new?name=Send&queue=mail").text
        let kinds = (0..<4).map { (try? hidden("kind\($0)", page)) ?? "" }
        #expect(kinds == ["text", "number", "flag", "json"])
        let new = try hidden("id", page)
        let fields = form([
            "id": new, "name": "Send", "queue": "mail", "key0": "to", "kind0": "text", "value0": "b",
            "key1": "count", "kind1": "number", "value1": "3", "key2": "html", "kind2": "flag", "value2": "false",
            "key3": "parts", "kind3": "json", "value3": "[1, 2]", "arguments": #"{"more":null}"#,
            "priority": "high", "start": "10m", "tags": "x", "unique": "one",
        ])
        let answer = try await desk("/ops/new", .post, form: fields)
        #expect(answer.status == 303 && answer.location.hasSuffix("outcome=enqueued"))
        let detail = try await detail(new, desk)
        let expected = #"{"more":null,"to":"b","count":3,"html":false,"parts":[1,2]}"#
        #expect(String(decoding: detail.envelope.arguments, as: UTF8.self) == expected)
        #expect(detail.state == .scheduled && detail.record.header.priority == .high && detail.uniqueKey == "one")
        #expect(try await desk("/ops/new", .post, form: fields).status == 409)

        let other = try hidden("id", try await desk("/ops/new?name=Send&queue=mail").text)
        let busy = form(["id": other, "name": "Send", "queue": "mail", "priority": "low", "unique": "one"])
        let refusal = try await desk("/ops/new", .post, form: busy)
        #expect(refusal.status == 409 && refusal.text.contains("the unique key belongs to"))
        #expect(refusal.text.contains(new) && refusal.text.contains("value=\"one\""))
    }

    @Test("Each wrong field of a new operation is refused beside it, and nothing is enqueued")
    func wrongFields() async throws {
        let desk = Desk()
        try await desk.enqueue("Send")
        let wrong: [(String, String)] = [
            ("name", Self.hostile), ("queue", Self.hostile), ("queue", "new"), ("priority", Self.hostile),
            ("start", Self.hostile), ("start", "2020-01-01T00:00:00Z"), ("arguments", Self.hostile),
            ("arguments", "\"" + String(repeating: "x", count: SluiceDefaults.operationBytes) + "\""),
            ("unique", String(repeating: "x", count: 129)), ("tags", String(repeating: "x", count: 65)),
            ("value0", "one"),
        ]
        for (field, value) in wrong {
            var typed = ["name": "Send", "queue": "mail", "priority": "low", "key0": "count", "kind0": "number"]
            (typed["id"], typed[field]) = (OperationID().description, value)
            let answer = try await desk("/ops/new", .post, form: form(of: typed))
            #expect(answer.status == 400 && answer.text.contains("aria-invalid=\"true\""), "\(field) \(answer.status)")
            #expect(!answer.text.contains("<script>"), "\(field)")
        }
        #expect(try await desk.broker.snapshot(queue: "mail", executingRows: 0).counts[.ready] == 1)
        #expect(try await desk.broker.queues() == ["mail"])
        let fields = form([
            "id": OperationID().description, "name": "Send", "queue": "new", "newqueue": "yes", "priority": "low",
        ])
        #expect(try await desk("/ops/new", .post, form: fields).status == 303)
        #expect(try await desk.broker.queues() == ["mail", "new"])
    }

    @Test("A viewer gets no form, and a read-only dashboard has none")
    func roles() async throws {
        let desk = Desk()
        let id = try await desk.enqueue("Send")[0]
        let closed = Desk(isReadOnly: true)
        let other = try await closed.enqueue("Send")[0]
        for path in ["/edit?queue=mail", "/rerun?queue=mail"] {
            #expect(try await desk("/ops/\(id)\(path)", as: .viewer).status == 403)
            #expect(try await desk("/ops/\(id)\(path)", as: .operate).status == 200)
            #expect(try await closed("/ops/\(other)\(path)").status == 404)
        }
        for role in [Role.viewer, .operate] { #expect(try await desk("/ops/new", as: role).status == 403) }
        #expect(try await closed("/ops/new").status == 404)
        #expect(try await !desk("/ops", as: .viewer).text.contains("/ops/new"))
    }
}
