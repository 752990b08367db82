import Foundation
import Operations
import Sluice
import Selectors
import Testing

@testable import SluiceCLI
@testable import SluiceOperator
import SluiceMonitor

@Suite(.timeLimit(.minutes(60)))
struct ErrorOutputTests {
    @Test("An error shows the event, then the notes, and the fix last, without control characters")
    func lines() {
        let error = CLIError(.refused, "queue \"a\u{1B}[31m\"", notes: ["tried\nthis"], fix: "sluice queue ls")
        #expect(error.lines == [#"error: queue "a\x1b[31m""#, #"  tried\nthis"#, "  try:  sluice queue ls"])
    }

    @Test("In JSON mode an error is one object with the same exit status")
    func json() throws {
        let json = CLIError(.notFound, "no operation", fix: "list").json
        #expect(json["v"]?.intValue == 1)
        #expect(json["error"]?["exit"]?.intValue == 3)
        #expect(json["error"]?["code"]?.stringValue == "notFound")
        #expect(!json.serialized().contains("\n"))
    }

    @Test("Several targets have their common status, 6 if only some were done, or else the first problem")
    func statuses() {
        #expect(ExitStatus.of([.done, .done]) == .done)
        #expect(ExitStatus.of([.refused, .done]) == .partly)
        #expect(ExitStatus.of([.notFound, .refused]) == .notFound)
        #expect(ExitStatus.of([]) == .done)
    }

    @Test("A wait's status is dead before cancelled before done; a running operation is a timeout")
    func ends() {
        #expect(ExitStatus.ofEnds([.finished, .finished]) == .done)
        #expect(ExitStatus.ofEnds([.cancelled, .dead, .finished]) == .dead)
        #expect(ExitStatus.ofEnds([.finished, .expired]) == .cancelled)
        #expect(ExitStatus.ofEnds([.finished, .executing]) == .timedOut)
    }

    @Test("The exit codes are the documented ones")
    func numbers() {
        #expect(ExitStatus.allCases.map(\.rawValue) == [0, 1, 2, 3, 4, 5, 6, 64, 69, 70, 74, 75, 76, 77, 78, 130, 143])
    }
}

@Suite(.timeLimit(.minutes(60)))
struct ProgramTests {
    @Test("The command of a refused confirmation can be pasted into a shell")
    func command() {
        let name = Program.name
        #expect(Program.command(["cancel", "--all"], adding: "-y") == "\(name) cancel --all -y")
        #expect(
            Program.command(["cancel", "--queue", "q", "--reason", "it's $1"], adding: "-y")
                == name + #" cancel --queue q --reason 'it'\''s $1' -y"#
        )
        #expect(Program.command(["enqueue", "--", "ls"], adding: "-y") == "\(name) enqueue -y -- ls")
    }
}

@Suite(.timeLimit(.minutes(60)))
struct SettingsTests {
    private func settings(_ words: [String] = [], _ environment: [String: String] = [:]) throws -> Settings {
        try Settings(try GlobalOptions.parse(words), environment: environment)
    }

    @Test(
        "A flag overrides SLUICE_REDIS_URL, which overrides REDIS_URL; without any of them the server is embedded"
    )
    func precedence() throws {
        let both = ["SLUICE_REDIS_URL": "redis://one", "REDIS_URL": "redis://two"]
        #expect(try settings(["--redis", "redis://flag"], both).redis.content?.description == "redis://flag:6379/0")
        #expect(try settings([], both).redis.origin == .environment("SLUICE_REDIS_URL"))
        #expect(try settings([], ["REDIS_URL": "redis://two"]).redis.content?.description == "redis://two:6379/0")
        #expect(try settings([], ["REDIS_URL": ""]).redis.content == nil)
    }

    @Test(
        "Wrong values are refused with their origin",
        arguments: [
            ("SLUICE_NAMESPACE", "a b"), ("SLUICE_CONNECT_TIMEOUT", "soon"), ("SLUICE_OUTPUT", "xml"),
            ("SLUICE_READ_ONLY", "maybe"), ("SLUICE_REDIS_URL", "http://h"),
        ]
    )
    func wrongEnvironment(name: String, value: String) {
        let error = #expect(throws: CLIError.self) { try settings([], [name: value]) }
        #expect(error?.status == .badConfiguration)
        #expect(error?.lines.joined().contains(name) == true)
    }

    @Test("A wrong flag is a usage error")
    func wrongFlag() {
        #expect(throws: CLIError.self) { try settings(["-N", "a b"]) }
        let error = #expect(throws: CLIError.self) { try settings(["--redis", "http://user:secret@h"]) }
        #expect(error?.status == .usage)
        #expect(error?.lines.joined().contains("secret") == false)
    }

    @Test("config show prints no password")
    func masked() throws {
        let entries = SettingsTable(try settings(["--redis", "redis://u:secret@h/3"])).entries
        #expect(entries.first { $0.name == "redis" }?.value == "redis://u:***@h:6379/3")
        #expect(!entries.contains { $0.value.contains("secret") })
    }
}

@Suite(.timeLimit(.minutes(60)))
struct OperationJSONTests {
    private func detail() throws -> OperationDetail {
        let envelope = OperationEnvelope(name: "exec", arguments: Array(#"{"n":12345678901234567890}"#.utf8))
        let record = OperationRecord(
            header: OperationHeader(id: OperationID("01J9ZM2QAAAAAAAAAAAA7QK2MX")!, failedAttempts: 1),
            state: .dead,
            startedAt: 1_700_000_000_000,
            fence: 7,
            enqueuedAt: 1_699_999_999_999,
            endedAt: 1_700_000_000_500,
            envelope: envelope.encoded()
        )
        var detail = OperationDetail(queue: "mail", record: record, state: .dead)
        let failure = OperationFailure(
            type: "exit",
            message: "exit code 3",
            attempt: 1,
            delivery: 1,
            details: ["exitCode": 3]
        )
        detail.errors = [FailedAttempt(at: 1_700_000_000_400, error: failure.encoded())]
        detail.cancel = CancelTrace(requestedAt: 1_700_000_000_100, reason: "r", by: "me")
        return detail
    }

    @Test("An operation's JSON has every promised member, string ids, RFC 3339 times and exact numbers")
    func members() throws {
        let json = OperationJSON.object(try detail(), PayloadView())
        let promised = [
            "v", "id", "name", "queue", "state", "priority", "tags", "headers", "attempt", "maxAttempts", "delivery",
            "fence",
            "worker",
            "enqueuedAt", "dueAt", "startedAt", "endedAt", "progress", "arguments", "result", "error", "errors",
            "dependencies", "dependents", "cancel",
        ]
        for key in promised { #expect(json[key] != nil, "\(key)") }
        #expect(json["enqueuedAt"]?.stringValue == "2023-11-14T22:13:19.999Z")
        #expect(json["arguments"]?.serialized() == #"{"n":12345678901234567890}"#)
        #expect(json["errors"]?[0]?["details"]?["exitCode"]?.intValue == 3)
        #expect(json["error"]?["message"]?.stringValue == "exit code 3")
        #expect(json["cancel"]?["acknowledgedAt"]?.isNull == true)
    }

    @Test("Stored bytes that are not JSON become a string, and an unreadable failure is marked as such")
    func unreadable() {
        #expect(OperationJSON.json(Array("{oops".utf8)) == .string("{oops"))
        #expect(FailedAttempt(at: 0, error: Array("boom".utf8)).failure.type == "unreadable")
    }

    @Test(
        "Comma-separated values are quoted, and formulas are escaped",
        arguments: [
            ("a,b", "\"a,b\""), ("say \"x\"", "\"say \"\"x\"\"\""), ("=1+1", "'=1+1"), ("-2", "'-2"),
            ("plain", "plain"),
        ]
    )
    func csv(text: String, cell: String) {
        #expect(CSV.cell(text) == cell)
    }

    @Test("The text of a cursor restores the position in a list")
    func cursor() throws {
        let position = ListWalk.Position(state: .dead, queue: "mail", cursor: "17 01KDZ9GN4R0000000000000008")
        #expect(try ListWalk.Position(text: position.text) == position)
        #expect(throws: QueryError.self) { try ListWalk.Position(text: "x") }
    }

    @Test(
        "A forged cursor is refused",
        arguments: [
            #""cursor":"2 99999999999999999999","queue":"mail""#, #""cursor":"2 '7'","queue":"mail""#,
            #""cursor":"","queue":"mail""#, #""cursor":"2 7","queue":"a}b""#, #""cursor":7,"queue":"mail""#,
        ]
    )
    func wrongCursor(fields: String) throws {
        let text = { (fields: String) in Data("{\"state\":\"dead\",\(fields)}".utf8).base64EncodedString() }
        #expect(throws: QueryError.self) { try ListWalk.Position(text: text(fields)) }
        #expect(try ListWalk.Position(text: text(#""cursor":"2 7","queue":"mail""#)).cursor == "2 7")
    }
}
