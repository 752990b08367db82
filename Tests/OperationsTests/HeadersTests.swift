import Testing

@testable import Operations

@Suite("Headers of an operation", .timeLimit(.minutes(60)))
struct HeadersTests {
    private let plain = #"{"name":"mail","args":{},"tags":["vip"],"attempts":2"#

    private func envelope(_ headers: [String: String]) -> OperationEnvelope {
        OperationEnvelope(
            name: "mail",
            tags: ["vip"],
            headers: headers,
            retry: RetryOverrides(attempts: 2),
            runTimeout: .seconds(3)
        )
    }

    private func stored(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    @Test("An envelope without headers is stored without the field")
    func none() {
        #expect(stored(envelope([:]).encoded()) == plain + #","timeout":3000}"#)
    }

    @Test("Headers are stored in order of their names and read back unchanged")
    func stored() throws {
        let headers = ["tenant": "Ä \"quoted\" \\", "a.b-c_1": "", "trace": "00-4bf92f-01"]
        let bytes = envelope(headers).encoded()
        let object = #"{"a.b-c_1":"","tenant":"Ä \"quoted\" \\","trace":"00-4bf92f-01"}"#
        #expect(
            stored(bytes) == #"{"name":"mail","args":{},"tags":["vip"],"headers":"# + object
                + #","attempts":2,"timeout":3000}"#
        )
        #expect(try OperationEnvelope(bytes) == envelope(headers))
    }

    @Test("A value that is not an object of strings is ignored", arguments: ["[]", "null", #"{"a":1}"#, #""a""#])
    func foreign(json: String) throws {
        let read = try OperationEnvelope(Array(#"{"name":"mail","headers":\#(json),"tags":["vip"]}"#.utf8))
        #expect(read.headers.isEmpty && read.tags == ["vip"])
    }

    @Test("Headers up to the limits are allowed")
    func largest() throws {
        try envelope(Dictionary(uniqueKeysWithValues: (0..<SluiceDefaults.headers).map { ("h\($0)", "") })).validate()
        try envelope([String(repeating: "n", count: 128): String(repeating: "v", count: 1024)]).validate()
        let four = (0..<4).map { ("\($0)", String(repeating: "v", count: 1023)) }
        try envelope(Dictionary(uniqueKeysWithValues: four)).validate()
        #expect(throws: OperationsError.self) {
            try envelope(Dictionary(uniqueKeysWithValues: four + [("4", "")])).validate()
        }
    }

    @Test(
        "The error for a header that is not allowed names it and states the rule",
        arguments: [
            (["": "x"], #"header name "" is not allowed: use 1 to 128 letters, digits, '.', '_' or '-'"#),
            (["a b": "x"], #"header name "a b" is not allowed: use 1 to 128 letters, digits, '.', '_' or '-'"#),
            (["a": "x\ny"], #"the value of header "a" has a character that cannot be printed: use printable text"#),
            (
                ["a": "\u{202E}x"],
                #"the value of header "a" has a character that cannot be printed: use printable text"#
            ),
            (
                ["a": String(repeating: "ä", count: 513)],
                #"header "a" has a value of 1026 bytes: use at most 1024"#
            ),
            (
                Dictionary(uniqueKeysWithValues: (1...5).map { ("\($0)", String(repeating: "v", count: 1000)) }),
                "the headers have 5005 bytes, names and values together: use at most 4096"
            ),
            (
                Dictionary(uniqueKeysWithValues: (1...33).map { ("h\($0)", "v") }),
                "33 headers: use at most 32"
            ),
        ] as [([String: String], String)]
    )
    func refused(headers: [String: String], message: String) {
        let error = #expect(throws: OperationsError.self) { try envelope(headers).validate() }
        #expect(error?.code == .invalidOption && error?.message == message, "\(error?.message ?? "")")
    }

    @Test("A reading of an operation hides the password of a URL in a header")
    func hidden() {
        let bytes = envelope(["callback": "https://ann:secret@h.example/"]).encoded()
        let reading = EnvelopeReading(bytes, id: OperationID(), queue: "mail")
        #expect(reading.envelope.headers["callback"]?.contains("secret") == false)
    }
}
