import Foundation
import Operations
import Sluice
import Testing

@testable import SluiceCLI

struct BatchFileTests {
    private func flags(_ words: String...) throws -> EnqueueSettings { try EnqueueFlags.parse(words).settings }

    private func read(_ text: String, _ defaults: EnqueueSettings) throws -> [EnqueueRequest] {
        let pipe = Pipe()
        let bytes = Data(text.utf8)
        let writer = Thread {
            try? pipe.fileHandleForWriting.write(contentsOf: bytes)
            try? pipe.fileHandleForWriting.close()
        }
        writer.start()
        var file = BatchFile(name: "batch.jsonl", defaults: defaults)
        return try file.read(pipe.fileHandleForReading)
    }

    @Test("Lines take what they do not say from the command line")
    func defaults() throws {
        let requests = try read(
            """
            {"name":"noop"}

            {"name":"sleep","args":{"seconds":3},"queue":"video","priority":"veryHigh","tags":["a"],"attempts":1,"track":true}
            {"name":"noop","in":"10m"}
            """,
            try flags("-q", "mail", "-p", "low", "-t", "x", "--no-track")
        )
        #expect(requests.map(\.queue) == ["mail", "video", "mail"])
        #expect(requests.map(\.operation.priority) == [.low, .veryHigh, .low])
        #expect(requests.map(\.operation.tracked) == [false, true, true])
        let envelope = try OperationEnvelope(requests[1].operation.envelope)
        #expect(envelope.arguments == Array(#"{"seconds":3}"#.utf8))
        #expect(envelope.tags == ["a"])
        #expect(envelope.retry.attempts == 1)
        #expect(requests[2].operation.delayMilliseconds == 600_000)
    }

    @Test("The last line needs no newline, and lines may end with CR LF")
    func lineEnds() throws {
        #expect(try read("{\"name\":\"noop\"}\r\n{\"name\":\"noop\"}", try flags()).count == 2)
        #expect(try read("\n\n", try flags()).isEmpty)
    }

    @Test("A line longer than a chunk is read as a whole")
    func longLine() throws {
        let line = #"{"name":"noop","args":{"text":""# + String(repeating: "x", count: 1_040_000) + "\"}}\n"
        #expect(try read(line + line + line, try flags()).count == 3)
    }

    @Test(
        "A bad line is named with its number and its mistake; nothing comes out",
        arguments: [
            (#"{"name":"noop""#, "column 15"), ("[]", "an array"), (#"{"args":{}}"#, "\"name\" is missing"),
            (#"{"name":"no{op}"}"#, "operation name"), (#"{"name":"noop","prio":"high"}"#, "unknown field"),
            (#"{"name":"noop","pririty":"high"}"#, "did you mean \"priority\"?"),
            (#"{"name":"noop","priority":"urgent"}"#, "unknown priority"),
            (#"{"name":"noop","in":5}"#, "\"in\" is a number"),
            (#"{"name":"noop","in":"5"}"#, "no duration"),
            (#"{"name":"noop","at":"2020-01-01T00:00:00Z"}"#, "in the past"),
            (#"{"name":"noop","attempts":0}"#, "attempts is 0"), (#"{"name":"noop","queue":"a b"}"#, "queue"),
            (#"{"name":"noop","tags":[1]}"#, "a list of texts"), (#"{"name":"noop","id":""}"#, "empty"),
        ]
    )
    func mistakes(line: String, part: String) throws {
        let good = String(repeating: "{\"name\":\"noop\"}\n", count: 16)
        let error = #expect(throws: CLIError.self) { try read(good + line + "\n", try flags()) }
        #expect(error?.status == .usage)
        #expect(error?.message.hasPrefix("batch.jsonl:17: ") == true, "\(error?.message ?? "")")
        #expect(error?.message.contains(part) == true, "\(error?.message ?? "")")
        #expect(error?.message.hasSuffix("nothing was enqueued") == true)
    }

    @Test("Arguments beyond the limit are refused with the line")
    func tooLarge() throws {
        let line = #"{"name":"noop","args":""# + String(repeating: "x", count: Defaults.operationBytes) + "\"}\n"
        let error = #expect(throws: CLIError.self) { try read(line, try flags()) }
        #expect(error?.message.contains("batch.jsonl:1: ") == true)
    }

    @Test("Two lines with one id are a mistake")
    func sameID() throws {
        let line = "{\"name\":\"noop\",\"id\":\"order-1\"}\n"
        let error = #expect(throws: CLIError.self) { try read(line + line, try flags()) }
        #expect(error?.message.contains("batch.jsonl:2: the \"id\" is that of line 1") == true)
    }
}
