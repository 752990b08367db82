import Foundation
import Operations
import Sluice
import Testing

@testable import SluiceCLI

@Suite(.timeLimit(.minutes(5)))
struct KeyValueArgumentsTests {
    private func object(_ words: String...) throws -> String {
        try KeyValueArguments.object(from: words) { path throws(CLIError) in
            guard path == "f" else { throw .usage("cannot read \(path)") }
            return Array("[1]".utf8)
        }.serialized()
    }

    @Test("Text, JSON and files become the members of an object, in their order")
    func members() throws {
        #expect(try object("b=1", "a:=1", "c:=[true,null]") == #"{"b":"1","a":1,"c":[true,null]}"#)
        #expect(try object("t=@f", "j:=@f") == #"{"t":"[1]","j":[1]}"#)
        #expect(try object("url=http://h/?a=b", "empty=") == #"{"url":"http://h/?a=b","empty":""}"#)
        #expect(try object("n:=12345678901234567890") == #"{"n":12345678901234567890}"#)
    }

    @Test(
        "What cannot be understood is a usage error that names the word",
        arguments: [
            "seconds", "=x", ":=1", "a:={", "a:=", "a=@missing",
        ]
    )
    func mistakes(word: String) {
        let error = #expect(throws: CLIError.self) { try object(word) }
        #expect(error?.status == .usage)
        #expect(error?.message.contains(word.hasSuffix("@missing") ? "missing" : word) == true)
    }

    @Test("An argument given twice is refused, so that none is lost")
    func twice() {
        #expect(throws: CLIError.self) { try object("a=1", "a:=2") }
    }
}

@Suite(.timeLimit(.minutes(5)))
struct IDReferenceTests {
    private let id = OperationID("01J9ZM2QAAAAAAAAAAAA7QK2MX")!

    @Test("Full ids, marked ends of ids and both behind a queue are understood; everything else is text")
    func forms() throws {
        #expect(try IDReference(parsing: "01J9ZM2QAAAAAAAAAAAA7QK2MX") == IDReference(.full(id)))
        #expect(try IDReference(parsing: "01j9zm2qaaaaaaaaaaaa7qk2mx") == IDReference(.full(id)))
        for text in ["…7QK2MX", "...7qk2mx", "~7QK2MX"] {
            #expect(try IDReference(parsing: text) == IDReference(.suffix("7QK2MX")))
        }
        #expect(try IDReference(parsing: "mail/…7QK2MX") == IDReference(queue: "mail", .suffix("7QK2MX")))
        #expect(try IDReference(parsing: "mail/\(id)") == IDReference(queue: "mail", .full(id)))
        for text in ["7QK2MX", "mail/7QK2MX", "import-2026", "QK2MX", "a/b/c", "…", "~x", "/7QK2MX", "m{l/7QK2MX"] {
            #expect(try IDReference(parsing: text) == IDReference(.text(text)))
            #expect(try IDReference(parsing: text).id == OperationID(key: text))
        }
    }

    @Test(
        "A text is first an --id, then the end of an id, then either of these behind a queue",
        arguments: [
            ("import-2026", [IDReference(.full(OperationID(key: "import-2026")))]),
            ("QK2MX", [IDReference(.full(OperationID(key: "QK2MX")))]),
            ("7qk2mx", [IDReference(.full(OperationID(key: "7qk2mx"))), IDReference(.suffix("7QK2MX"))]),
            (
                "mail/7qk2mx",
                [
                    IDReference(.full(OperationID(key: "mail/7qk2mx"))),
                    IDReference(queue: "mail", .full(OperationID(key: "7qk2mx"))),
                    IDReference(queue: "mail", .suffix("7QK2MX")),
                ]
            ),
            ("m{l/7QK2MX", [IDReference(.full(OperationID(key: "m{l/7QK2MX")))]),
        ]
    )
    func meanings(text: String, meanings: [IDReference]) throws {
        #expect(try IDReference(parsing: text).meanings == meanings)
    }

    @Test("With a queue that was said, a text behind another queue is an --id only")
    func queues() {
        let whole = IDReference(queue: "mail", .full(OperationID(key: "video/7QK2MX")))
        #expect(IDReference(queue: "mail", .text("video/7QK2MX")).meanings == [whole])
    }

    @Test("An empty id is refused")
    func empty() {
        let error = #expect(throws: CLIError.self) { try IDReference(parsing: "") }
        #expect(error?.status == .usage)
    }
}

@Suite(.timeLimit(.minutes(5)))
struct OperationQueryTests {
    @Test("Terms choose states and queues; a comma means or, a minus not")
    func places() throws {
        let query = try OperationQuery(parsing: ["state:dead,retrying", "-queue:mail*"])
        #expect(query.states == [.retrying, .dead])
        #expect(query.queues(of: ["mail", "mail2", "video"]) == ["video"])
        #expect(!query.filtersRows)
        #expect(try OperationQuery(parsing: []).states.count == OperationState.allCases.count)
    }

    @Test("Rows are checked by name, tag, priority and worker")
    func rows() throws {
        let envelope = OperationEnvelope(name: "SendEmail", tags: ["vip", "eu"])
        let record = OperationRecord(
            header: OperationHeader(id: OperationID(), priority: .high),
            state: .ready,
            enqueuedAt: 1,
            envelope: envelope.encoded()
        )
        let detail = OperationDetail(queue: "mail", record: record, state: .ready)
        for text in [
            "name:Send*", "tag:vip", "tag:x,eu", "-tag:test", "priority:high", "-name:Resize", "tag:vip tag:eu",
        ] {
            #expect(try OperationQuery(parsing: [text]).matches(detail), "\(text)")
        }
        for text in [
            "name:send*", "tag:test", "-tag:vip", "priority:low", "name:Resize", "tag:vip tag:us", "worker:h1",
        ] {
            #expect(try !OperationQuery(parsing: [text]).matches(detail), "\(text)")
        }
    }

    @Test("A tag from -t is compared as it is; patterns are only in a query", arguments: ["v1*", "v10-prod", "*", ""])
    func exactTags(tag: String) throws {
        let record = OperationRecord(
            header: OperationHeader(id: OperationID()),
            state: .ready,
            enqueuedAt: 1,
            envelope: OperationEnvelope(name: "noop", tags: [tag]).encoded()
        )
        let detail = OperationDetail(queue: "mail", record: record, state: .ready)
        for asked in ["v1*", "v10-prod", "*", ""] {
            var query = try OperationQuery(parsing: [])
            query.terms.append(.tags(["other", asked]))
            #expect(query.matches(detail) == (tag == asked), "-t \(asked)")
        }
        #expect(try OperationQuery(parsing: ["tag:v1*"]).matches(detail) == tag.hasPrefix("v1"))
    }

    @Test(
        "Unknown fields and states are refused with what may have been meant",
        arguments: [
            ("stat:dead", "did you mean \"state\"?"), ("state:raedy", "did you mean \"ready\"?"),
            ("dead", "not a term"),
            ("queue:", "no value"), ("priority:urgent", "unknown priority"),
        ]
    )
    func mistakes(text: String, part: String) {
        let error = #expect(throws: CLIError.self) { try OperationQuery(parsing: [text]) }
        #expect(error?.status == .usage)
        #expect(error?.message.contains(part) == true)
    }
}

@Suite(.timeLimit(.minutes(5)))
struct SuggestionTests {
    @Test("A slip of the finger is recognised, another word is not")
    func nearest() {
        let queues = ["mail", "video", "reports"]
        #expect(Suggestion.nearest(to: "mial", among: queues) == "mail")
        #expect(Suggestion.nearest(to: "vidoe", among: queues) == "video")
        #expect(Suggestion.nearest(to: "MAIL", among: queues) == "mail")
        #expect(Suggestion.nearest(to: "xyz", among: queues) == nil)
        #expect(Suggestion.nearest(to: "", among: queues) == nil)
    }

    @Test(
        "The distance counts insertions, deletions, replacements and swaps",
        arguments: [
            ("", "", 0), ("a", "", 1), ("abc", "acb", 1), ("kitten", "sitting", 3), ("same", "same", 0),
        ]
    )
    func distance(left: String, right: String, wanted: Int) {
        #expect(Suggestion.distance(left, right) == wanted)
        #expect(Suggestion.distance(right, left) == wanted)
    }
}
