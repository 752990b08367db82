import Foundation
import Operations
import Sluice
import Testing

@testable import SluiceCLI

@Suite(.timeLimit(.minutes(60)))
struct BatchFileTests {
    private func flags(_ words: String...) throws -> EnqueueSettings { try EnqueueFlags.parse(words).settings }

    private func read(_ text: String, _ defaults: EnqueueSettings) async throws -> [EnqueueInput] {
        try await read(Array(text.utf8), defaults)
    }

    private func read(_ bytes: [UInt8], _ defaults: EnqueueSettings) async throws -> [EnqueueInput] {
        let pipe = Pipe()
        let bytes = Data(bytes)
        let writer = Thread {
            try? pipe.fileHandleForWriting.write(contentsOf: bytes)
            try? pipe.fileHandleForWriting.close()
        }
        writer.start()
        var file = BatchFile(name: "batch.jsonl", defaults: defaults)
        let batch = try await file.read { try InputFile.next(of: pipe.fileHandleForReading, "batch.jsonl", upTo: $0) }
        return Array(batch.requests)
    }

    @Test("The command line sets the fields that a line omits")
    func defaults() async throws {
        let requests = try await read(
            """
            {"name":"noop"}

            {"name":"sleep","args":{"seconds":3},"queue":"video","priority":"veryHigh","tags":["a"],"headers":{"b":"2","a":"é"},"attempts":1,"track":true}
            {"name":"noop","in":"10m"}
            """,
            try flags("-q", "mail", "-p", "low", "-t", "x", "--header", "a=1", "--header", "c=x=y", "--no-track")
        )
        #expect(requests.map(\.queue) == ["mail", "video", "mail"])
        #expect(requests.map(\.operation.priority) == [.low, .veryHigh, .low])
        #expect(requests.map(\.operation.tracked) == [false, true, true])
        let envelope = try OperationEnvelope(requests[1].operation.envelope)
        #expect(envelope.arguments == Array(#"{"seconds":3}"#.utf8))
        #expect(envelope.tags == ["a"])
        #expect(envelope.headers == ["a": "é", "b": "2"])
        #expect(try OperationEnvelope(requests[0].operation.envelope).headers == ["a": "1", "c": "x=y"])
        #expect(envelope.retry.attempts == 1)
        #expect(requests[2].operation.delayMilliseconds == 600_000)
    }

    @Test("A line's groups, one or several, replace the groups of the command line")
    func groups() async throws {
        let requests = try await read(
            """
            {"name":"noop"}
            {"name":"noop","group":"mail/7QK2MX"}
            {"name":"noop","group":["nightly","01J9ZM2QW3N8B5T4D7K6R1XYPE"]}
            """,
            try flags("--group", "weekly")
        )
        #expect(
            requests.map { $0.groups.map(\.shown) } == [
                ["weekly"], ["mail/7QK2MX"], ["nightly", "01J9ZM2QW3N8B5T4D7K6R1XYPE"],
            ]
        )
    }

    @Test("A line can be a callback of a group, to which -q does not apply")
    func callbacks() async throws {
        let requests = try await read(
            """
            {"name":"noop","onSuccess":"nightly"}
            {"name":"noop","onEnd":"nightly","queue":"reports"}
            {"name":"noop","onFirstDeath":"nightly"}
            """,
            try flags("-q", "mail")
        )
        #expect(requests.map(\.callback?.when) == [.success, .end, .firstDeath])
        #expect(requests.map(\.givenQueue) == [nil, "reports", nil])
        await #expect(throws: CLIError.self) {
            try await read(#"{"name":"noop","onEnd":"nightly","group":"weekly"}"#, try flags())
        }
    }

    @Test("The last line needs no newline, and lines may end with CR LF")
    func lineEnds() async throws {
        #expect(try await read("{\"name\":\"noop\"}\r\n{\"name\":\"noop\"}", try flags()).count == 2)
        #expect(try await read("\n\n", try flags()).isEmpty)
    }

    @Test("A line longer than a chunk is read as a whole")
    func longLine() async throws {
        let line = #"{"name":"noop","args":{"text":""# + String(repeating: "x", count: 1_040_000) + "\"}}\n"
        #expect(try await read(line + line + line, try flags()).count == 3)
    }

    @Test(
        "A bad line is reported with its number and its mistake, and no line is enqueued",
        arguments: [
            (#"{"name":"noop""#, "column 15"), ("[]", "an array"), (#"{"args":{}}"#, "\"name\" is missing"),
            (#"{"name":"no{op}"}"#, "operation name"), (#"{"name":"noop","prio":"high"}"#, "unknown field"),
            (#"{"name":"noop","pririty":"high"}"#, "did you mean \"priority\"?"),
            (#"{"name":"noop","priority":"urgent"}"#, "unknown priority"),
            (#"{"name":"noop","in":5}"#, "\"in\" is a number"),
            (#"{"name":"noop","in":"5"}"#, "not a duration"),
            (#"{"name":"noop","at":"2020-01-01T00:00:00Z"}"#, "in the past"),
            (#"{"name":"noop","attempts":0}"#, "attempts is 0"), (#"{"name":"noop","queue":"a b"}"#, "queue"),
            (#"{"name":"noop","tags":[1]}"#, "a list of texts"), (#"{"name":"noop","id":""}"#, "empty"),
            (#"{"name":"noop","headers":["a"]}"#, "\"headers\" is an array; expected an object of texts"),
            (#"{"name":"noop","headers":{"a":1}}"#, "expected an object of texts"),
            (#"{"name":"noop","headers":{"a":"1","a":"2"}}"#, "column 35: found a key for the second time"),
            (#"{"name":"noop","headers":{"a b":"1"}}"#, "header name \"a b\" is not allowed: use 1 to 128"),
            (#"{"name":"noop","headers":{"a":"\u0007"}}"#, "the value of header \"a\""),
        ]
    )
    func mistakes(line: String, part: String) async throws {
        let good = String(repeating: "{\"name\":\"noop\"}\n", count: 16)
        let error = await #expect(throws: CLIError.self) { try await read(good + line + "\n", try flags()) }
        #expect(error?.status == .usage)
        #expect(error?.message.hasPrefix("batch.jsonl:17: ") == true, "\(error?.message ?? "")")
        #expect(error?.message.contains(part) == true, "\(error?.message ?? "")")
        #expect(error?.message.hasSuffix("nothing was enqueued") == true)
    }

    @Test("Arguments beyond the limit are refused with the line")
    func tooLarge() async throws {
        let line = #"{"name":"noop","args":""# + String(repeating: "x", count: SluiceDefaults.operationBytes) + "\"}\n"
        let error = await #expect(throws: CLIError.self) { try await read(line, try flags()) }
        #expect(error?.message.contains("batch.jsonl:1: ") == true)
    }

    @Test("Two lines with the same id in one queue are an error")
    func sameID() async throws {
        let line = "{\"name\":\"noop\",\"id\":\"order-1\"}\n"
        let error = await #expect(throws: CLIError.self) { try await read(line + line, try flags()) }
        #expect(error?.message.contains("batch.jsonl:2: the \"id\" is already used in line 1") == true)
    }

    @Test("Two lines with the same id in two queues are two operations, as with two single enqueues")
    func sameIDInTwoQueues() async throws {
        let requests = try await read(
            #"{"name":"noop","id":"order-1","queue":"a"}"# + "\n" + #"{"name":"noop","id":"order-1","queue":"b"}"#,
            try flags()
        )
        #expect(requests.map(\.queue) == ["a", "b"])
        #expect(Set(requests.map(\.operation.id)).count == 1)
    }

    @Test("A byte order mark is skipped, and UTF-16 is refused by name")
    func byteOrderMark() async throws {
        for text in ["\u{FEFF}{\"name\":\"noop\"}\n{\"name\":\"noop\"}\n", "\u{FEFF}{\"name\":\"noop\"}"] {
            #expect(try await read(text, try flags()).first?.name == "noop")
        }
        #expect(try await read("\u{FEFF}", try flags()).isEmpty)
        let utf16 = Array("{\"name\":\"noop\"}\n".utf16).flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
        let error = await #expect(throws: CLIError.self) { try await read([0xFF, 0xFE] + utf16, try flags()) }
        #expect(error?.message == "batch.jsonl is UTF-16, and must be UTF-8; nothing was enqueued")
    }

    @Test("Only spaces, tabs and line ends make an empty line", arguments: [[0, 0, 0], [0x0B], [0x0C, 0x20], [0x1B]])
    func noEmptyLine(bytes: [UInt8]) async throws {
        let error = await #expect(throws: CLIError.self) {
            try await read(Array("{\"name\":\"noop\"}\n \t\r\n".utf8) + bytes + [0x0A], try flags())
        }
        #expect(error?.message.hasPrefix("batch.jsonl:3: column ") == true, "\(error?.message ?? "")")
    }

    @Test("A line cannot be untracked if the command waits for its end")
    func untrackedAwaited() async throws {
        var settings = try flags()
        settings.isAwaited = true
        let error = await #expect(throws: CLIError.self) {
            try await read(#"{"name":"noop","track":false}"#, settings)
        }
        #expect(error?.message.contains("batch.jsonl:1: an untracked operation cannot be waited for") == true)
        #expect(try await read(#"{"name":"noop"}"#, settings).count == 1)
    }

    @Test("A line accepts the arguments of a single enqueue: null, and the same depth")
    func sameArguments() async throws {
        let deep = String(repeating: "[", count: 64) + String(repeating: "]", count: 64)
        for arguments in [deep, "null", "[1, 2 ]", #"{"a" : "\u0041é"}"#, "-1.50e+3"] {
            let single = try flags().request(
                name: "n",
                arguments: try JSONValue(parsing: arguments).serializedBytes()
            )
            let line = try await read(#"{"name":"n","args": \#(arguments)}"#, try flags())[0]
            #expect(line.operation.envelope == single.operation.envelope)
        }
        let error = await #expect(throws: CLIError.self) {
            try await read(#"{"name":"n","args":[\#(deep)]}"#, try flags())
        }
        #expect(error?.message.contains("level 66") == true, "\(error?.message ?? "")")
    }

    @Test("Many lines keep their order and their numbers, however tasks share them")
    func manyLines() async throws {
        let good = (0..<40_000).map { #"{"name":"noop","args":{"n":\#($0)},"attempts":\#($0 % 9 + 1)}"# }
        let requests = try await read(good.joined(separator: "\n"), try flags())
        #expect(requests.map(\.line) == Array(1...40_000))
        #expect(try OperationEnvelope(requests[39_999].operation.envelope).arguments == Array(#"{"n":39999}"#.utf8))
        let ids = requests.map(\.operation.id)
        #expect(ids == ids.sorted() && Set(ids).count == 40_000)
        var bad = good
        bad[30_000] = #"{"name":"noop","args":{"n":1,"n":2}}"#
        bad[39_000] = "{"
        let text = bad.joined(separator: "\n")
        let error = await #expect(throws: CLIError.self) { try await read(text, try flags()) }
        #expect(error?.message.hasPrefix("batch.jsonl:30001: column 30: ") == true, "\(error?.message ?? "")")
    }

    private func part(_ lines: ClosedRange<Int>, after: [OperationDependency] = []) -> BatchPart {
        BatchPart(
            lines.map { line in
                var request = EnqueueInput(
                    queue: "q",
                    name: "noop",
                    operation: NewOperation(envelope: [0x7B, UInt8(line % 200)])
                )
                request.operation.links = OperationLinks(after: after)
                request.line = line
                return request
            }
        )
    }

    @Test("Parts are sent together up to 10,000 operations, but alone if operations have dependencies")
    func windows() {
        let parts = [part(1...4000), part(4001...9000), part(9001...10_001), part(10_002...10_003)]
        let windows = Batch(parts).windows
        #expect(windows.map { $0.map(\.count) } == [[4000, 5000], [1001, 2]])
        #expect(windows.flatMap { $0.flatMap { $0.requests().map(\.line) } } == Array(1...10_003))
        let waiting = [part(1...2), part(3...3, after: [OperationDependency(OperationID(key: "a"))])]
        #expect(Batch(waiting).windows.map(\.count) == [1, 1])
        #expect(Batch().windows.isEmpty)
    }

    @Test("Alternating queues and names are stored as a few kinds, and each line keeps its own envelope")
    func kinds() async throws {
        let lines = (0..<300).map { #"{"name":"n\#($0 % 3)","queue":"q\#($0 % 2)","args":{"n":\#($0)}}"# }
        var file = BatchFile(name: "batch.jsonl", defaults: try flags())
        var text: Data? = Data(lines.joined(separator: "\n").utf8)
        let batch = try await file.read { _ in
            defer { text = nil }
            return text
        }
        #expect(batch.parts.map(\.kinds.count) == [6])
        for (index, request) in batch.requests.enumerated() {
            #expect(request.name == "n\(index % 3)" && request.queue == "q\(index % 2)" && request.line == index + 1)
            let envelope = try OperationEnvelope(request.operation.envelope)
            #expect(envelope.arguments == Array(#"{"n":\#(index)}"#.utf8))
        }
    }
}
