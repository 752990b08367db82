import Operations
import Testing

@Suite("A redaction", .timeLimit(.minutes(60)))
struct RedactionTests {
    private func shown(_ json: String, _ paths: String, hidesAll: Bool = false) throws -> String {
        let redaction = try Redaction(parsing: paths, hidesAll: hidesAll)
        return String(decoding: redaction.applied(to: Array(json.utf8), .arguments), as: UTF8.self)
    }

    @Test(
        "A redaction hides only the values that its paths name",
        arguments: [
            (#"{"user":"a","password":"p"}"#, "args.password", #"{"user":"a","password":"***"}"#),
            (#"{"password":{"old":1,"new":[2]}}"#, "args.password", #"{"password":"***"}"#),
            (
                #"{"a":{"token":1},"b":{"token":2,"c":3}}"#, "args.*.token",
                #"{"a":{"token":"***"},"b":{"token":"***","c":3}}"#
            ),
            (#"[{"t":1},{"t":2}]"#, "args.1.t,args.0", #"["***",{"t":"***"}]"#),
            (#"{"a":1}"#, "args.b,result.a,args.a.b", #"{"a":1}"#),
            (#"{"a":1}"#, "args", #""***""#),
            (#"{"n":9007199254740993}"#, "result.n", #"{"n":9007199254740993}"#),
        ]
    )
    func paths(json: String, paths: String, expected: String) throws {
        #expect(try shown(json, paths) == expected)
    }

    @Test("A redaction hides data that it cannot parse, and everything if `hidesAll` is set")
    func all() throws {
        #expect(try shown("no json", "args.a") == #""***""#)
        #expect(try shown("no json", "result.a") == "no json")
        #expect(try shown(#"{"a":1}"#, "", hidesAll: true) == #""***""#)
    }

    @Test("A wrong path is refused", arguments: ["password", "args..a", "args.", ".args", "error.message"])
    func refused(paths: String) {
        #expect(throws: OperationsError.self) { try Redaction(parsing: paths, hidesAll: false) }
    }
}
