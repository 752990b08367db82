import Foundation
import Operations
import Sluice
import Testing

@testable import SluiceCLI

@Suite(.timeLimit(.minutes(60)))
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
        "A word that cannot be parsed is a usage error that names the word",
        arguments: [
            "seconds", "=x", ":=1", "a:={", "a:=", "a=@missing",
        ]
    )
    func mistakes(word: String) {
        let error = #expect(throws: CLIError.self) { try object(word) }
        #expect(error?.status == .usage)
        #expect(error?.message.contains(word.hasSuffix("@missing") ? "missing" : word) == true)
    }

    @Test("An argument that is given twice is refused, so none is lost")
    func twice() {
        #expect(throws: CLIError.self) { try object("a=1", "a:=2") }
    }
}

@Suite(.timeLimit(.minutes(60)))
struct IDReferenceTests {
    private let id = OperationID("01J9ZM2QAAAAAAAAAAAA7QK2MX")!

    @Test("Full ids and ends of ids with a cut mark are recognized, also after a queue; other texts stay texts")
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
        "A text means an --id first, then the end of an id, then either of these after a queue",
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

    @Test("With a given queue, a text with another queue is only an --id")
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
