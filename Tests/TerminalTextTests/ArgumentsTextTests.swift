import Operations
import Testing

@testable import TerminalText

@Suite("A short form of arguments", .timeLimit(.minutes(60)))
struct ArgumentsTextTests {
    private func line(_ name: String, _ json: String, redact paths: String = "") throws -> String {
        let envelope = OperationEnvelope(name: name, arguments: Array(json.utf8)).encoded()
        let view = PayloadView(redaction: try Redaction(parsing: paths, hidesAll: false))
        return ArgumentsText.line(EnvelopeReading(envelope, id: OperationID(), queue: "default", view: view))
    }

    @Test(
        "of exec is its command as a shell reads it, with other arguments in parentheses",
        arguments: [
            (#"{"argv":["make","-j4","all"]}"#, "make -j4 all"),
            (#"{"argv":["sh","-c","echo \"it's\" > a; b"]}"#, #"sh -c 'echo "it'\''s" > a; b'"#),
            (#"{"argv":["printf","","報告 書","報告"]}"#, "printf '' '報告 書' 報告"),
            (#"{"argv":["run"],"cwd":"/srv/a b","env":{"LANG":"C"}}"#, #"run (cwd='/srv/a b' env={"LANG":"C"})"#),
            (#"{"argv":"make"}"#, "argv=make"), (#"{}"#, ""),
        ]
    )
    func exec(json: String, expected: String) throws {
        #expect(try line("exec", json) == expected)
    }

    @Test(
        "of another operation is key=value",
        arguments: [
            (#"{"seconds":9,"note":"two words","on":true,"z":null}"#, "seconds=9 note='two words' on=true z=null"),
            (#"{"list":[1,"a"],"deep":{"x":{"y":1}}}"#, #"list=[1,"a"] deep={"x":{"y":1}}"#),
            (#"[1,"a"]"#, #"[1,"a"]"#), (#""word and word""#, "'word and word'"), ("17", "17"),
        ]
    )
    func pairs(json: String, expected: String) throws {
        #expect(try line("work", json) == expected)
    }

    @Test("hides values that look secret")
    func secrets() throws {
        let plain = #"{"password":"p","apiKey":"k","maxTokens":5,"monkey":"m"}"#
        #expect(try line("work", plain) == "password=*** apiKey=*** maxTokens=5 monkey=m")
        let deep = #"{"h":{"X-Auth-Token":"t","a":[{"secret":["s"]}]}}"#
        #expect(try line("work", deep) == #"h={"X-Auth-Token":"***","a":[{"secret":"***"}]}"#)
        #expect(try line("http", #"{"url":"http://u:pw@host/a"}"#) == "url='http://u:***@host/a'")
        let options = #"{"argv":["x","--password","p","--token=t","DB_PASSWORD=q","-v"]}"#
        #expect(try line("exec", options) == "x --password '***' '--token=***' 'DB_PASSWORD=***' -v")
        let header = #"{"argv":["curl","-H","Authorization: Bearer b"]}"#
        #expect(try line("exec", header) == "curl -H 'Authorization: Bearer ***'")
        let words = #"{"argv":["sh","-c","export TOKEN=x; curl -H \"Cookie: a=b; c\" u"]}"#
        #expect(try line("exec", words) == #"sh -c 'export TOKEN=***; curl -H "Cookie: ***; c" u'"#)
        let inside = #"{"argv":["run","--env=DB_PASSWORD=x","--header=X-Auth-Token: y","-u","me:pw","--token","-abc"]}"#
        #expect(
            try line("exec", inside)
                == "run '--env=DB_PASSWORD=***' '--header=X-Auth-Token: ***' -u 'me:***' --token '***'"
        )
        #expect(
            try line("work", #"{"headers":["Authorization: Basic eDp5"],"pin_token":1234}"#)
                == #"headers=["Authorization: Basic ***"] pin_token=***"#
        )
        #expect(
            try line("work", #"{"note":"the key: value, a=b","monkey":"k=v"}"#)
                == "note='the key: ***, a=b' monkey=k=v"
        )
        let variable = #"{"argv":["x","http://u:pw@host/"],"env":{"TOKEN":"t"}}"#
        #expect(try line("exec", variable) == #"x 'http://u:***@host/' (env={"TOKEN":"***"})"#)
    }

    @Test("applies the redaction, and reports unreadable arguments")
    func redaction() throws {
        #expect(try line("work", #"{"a":"x","b":"y"}"#, redact: "args.b") == "a=x b=***")
        #expect(ArgumentsText.line(EnvelopeReading(Array("no json".utf8), id: OperationID(), queue: "q")) == "no json")
        let sealed = Array(#"{"name":"work","args":"9f8e","enc":"2026-07"}"#.utf8)
        let reading = EnvelopeReading(sealed, id: OperationID(), queue: "q")
        #expect(ArgumentsText.line(reading) == #"encrypted with the key "2026-07""#)
    }
}
