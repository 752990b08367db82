import Foundation
import Operations
import Sluice
import Testing

@testable import SluiceCLI

@Suite("A file of commands", .timeLimit(.minutes(60)))
struct CommandFileTests {
    private func read(_ bytes: [UInt8], _ words: String...) throws -> [EnqueueInput] {
        Array(try CommandFile(name: "jobs", settings: try EnqueueFlags.parse(words).settings).read(bytes).requests)
    }

    private func arguments(_ request: EnqueueInput) throws -> JSONValue {
        try JSONValue(parsing: try OperationEnvelope(request.operation.envelope).arguments)
    }

    @Test(
        "Lines have the words and quotes of a shell, and none of its other features",
        arguments: [
            ("echo hello", ["echo", "hello"]), ("  a \t b  ", ["a", "b"]), ("a 'b c' d", ["a", "b c", "d"]),
            (#"a "b c" d"#, ["a", "b c", "d"]), (#"a b\ c"#, ["a", "b c"]), ("a''b", ["ab"]),
            ("a '' \"\"", ["a", "", ""]),
            (#"a 'b"c' "d'e""#, ["a", #"b"c"#, "d'e"]), (#"a 'b\c'"#, ["a", #"b\c"#]),
            (#"a "b\"c\\d\n""#, ["a", #"b"c\d\n"#]), (#"a \'b\" \\"#, ["a", #"'b""#, #"\"#]), (#"x'1'"2"\3"#, ["x123"]),
            (
                "echo $HOME * | a > b; c & `d` # e",
                ["echo", "$HOME", "*", "|", "a", ">", "b;", "c", "&", "`d`", "#", "e"]
            ),
            ("ä '語 語' 'e\u{301}'\u{301}", ["ä", "語 語", "e\u{301}\u{301}"]), ("a'\u{308}b'", ["a\u{308}b"]),
            ("", []), ("   ", []), ("# a comment", []), ("  #x", []), ("\\#x", ["#x"]), ("'#x'", ["#x"]),
        ] as [(String, [String])]
    )
    func words(line: String, words: [String]) throws {
        #expect(try CommandWords.split(line) == words)
    }

    @Test(
        "An error names the mistake and the column where it begins",
        arguments: [
            ("a 'b", 3, "the quote ' is not closed"), (#"a b"c\""#, 4, "the quote \" is not closed"),
            (#"a b\"#, 4, "the line ends with a backslash, but a command is one line"),
        ]
    )
    func mistakes(line: String, column: Int, message: String) {
        #expect(throws: CommandWords.Mistake(column: column, message: message)) { try CommandWords.split(line) }
    }

    @Test("Commands become operations in their order, without empty lines and comments, with the common arguments")
    func requests() throws {
        let text = "\u{FEFF}echo one\r\n\n# two\n  echo 'three  3'\nlast"
        let common = JSONObject([("cwd", .string("/srv")), ("env", .object(JSONObject([("A", .string("b"))])))])
        let settings = try EnqueueFlags.parse(["-q", "mail", "-t", "x"]).settings
        let file = CommandFile(name: "jobs", settings: settings, common: common)
        let requests = Array(try file.read(Array(text.utf8)).requests)
        #expect(requests.map(\.name) == ["exec", "exec", "exec"])
        #expect(requests.map(\.queue) == ["mail", "mail", "mail"])
        #expect(requests.map(\.line) == [1, 4, 5])
        let argv = try requests.map { try arguments($0)["argv"]?.serialized() }
        #expect(argv == [#"["echo","one"]"#, #"["echo","three  3"]"#, #"["last"]"#])
        #expect(try arguments(requests[2]).serialized() == #"{"argv":["last"],"cwd":"/srv","env":{"A":"b"}}"#)
    }

    @Test(
        "A bad line is reported with file and line, and nothing is sent",
        arguments: [
            (Array("a 'b".utf8), "column 3: the quote ' is not closed"), ([0x61, 0, 0x62], "NUL"),
            ([0x61, 0xff], "UTF-8"),
            (Array("'' a".utf8), "the program's name is empty"),
            (Array("a ".utf8) + [UInt8](repeating: 0x62, count: 1 << 20), "header and envelope may have 1048576"),
        ] as [([UInt8], String)]
    )
    func wrong(line: [UInt8], message: String) {
        let bytes = Array("good\n\n".utf8) + line + Array("\ngood\n".utf8)
        let error = #expect(throws: CLIError.self) { try read(bytes) }
        #expect(error?.status == .usage)
        #expect(
            error?.message.hasPrefix("jobs:3: ") == true && error?.message.contains(message) == true,
            "\(error?.message ?? "")"
        )
        #expect(error?.message.hasSuffix("nothing was enqueued") == true)
    }
}

@Suite("Folder, environment and input of a program", .timeLimit(.minutes(60)))
struct ProgramFlagsTests {
    private func added(_ words: String..., to object: JSONObject = JSONObject()) throws -> String {
        let flags = try ProgramFlags.parse(words)
        return JSONValue.object(try flags.added(to: object, environment: ["HERE": "x=y"])).serialized()
    }

    @Test("Options become arguments of exec: an absolute folder, and variables with a value or by name")
    func members() throws {
        let here = FileManager.default.currentDirectoryPath
        #expect(try added("--cwd", "/srv") == #"{"cwd":"/srv"}"#)
        #expect(try added("--cwd", ".") == JSONValue.object(JSONObject([("cwd", .string(here))])).serialized())
        #expect(
            try added("--cwd", "a b") == JSONValue.object(JSONObject([("cwd", .string(here + "/a b"))])).serialized()
        )
        #expect(
            try added("--env", "A=b=c", "--env", "B=", "--env", "HERE") == #"{"env":{"A":"b=c","B":"","HERE":"x=y"}}"#
        )
        #expect(try added() == "{}")
    }

    @Test(
        "A wrong option is refused with a fix",
        arguments: [
            (["--env", "A B=c"], "not a variable name"), (["--env", "=c"], "not a variable name"),
            (["--env", "1A=c"], "not a variable name"), (["--env", "GONE"], "not set there"),
            (["--env", "A=1", "--env", "A=2"], "given twice"), (["--stdin", "/no/such/file"], "/no/such/file"),
        ]
    )
    func refused(words: [String], message: String) throws {
        let flags = try ProgramFlags.parse(words)
        let error = #expect(throws: CLIError.self) { try flags.added(to: JSONObject(), environment: [:]) }
        #expect(error?.message.contains(message) == true && error?.fix != nil, "\(error?.message ?? "")")
    }

    @Test("An option is refused if the arguments have the same member")
    func twice() throws {
        let flags = try ProgramFlags.parse(["--cwd", "/a"])
        #expect(throws: CLIError.self) { try flags.added(to: JSONObject([("cwd", .string("/b"))])) }
    }
}
