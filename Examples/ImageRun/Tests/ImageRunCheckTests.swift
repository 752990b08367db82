import Foundation
import TestTools
import Testing

@testable import image_run

@Suite("image-run check", .timeLimit(.minutes(60)))
struct ImageRunCheckTests {
    private static let file = Audit.File(bytes: 3, sha256: "aa")
    private static let source = ["a.png": file, "b.png": file, "c.png": file]

    private static func record(_ id: String, _ name: String, _ state: String, attempt: Int = 1) throws -> DownloadRecord
    {
        let result = state == "finished" ? #"{"bytes":3,"sha256":"aa","path":"/t/\#(name)"}"# : "null"
        let url = "http://127.0.0.1:1/\(name)"
        let json = """
            {"v":1,"id":"\(id)","name":"download","state":"\(state)","attempt":\(attempt),
             "arguments":{"url":"\(url)"},"result":\(result),"error":null}
            """
        return try JSONDecoder().decode(DownloadRecord.self, from: Data(json.utf8))
    }

    private static func records() throws -> [DownloadRecord] {
        try [
            record("1", "a.png", "finished"), record("2", "b.png", "finished", attempt: 3),
            record("3", "c.png", "dead"),
        ]
    }

    private static func entry(_ path: String, inFlight: Int) -> Traffic.Entry {
        Traffic.Entry(
            time: "",
            method: "GET",
            path: path,
            status: 200,
            bytes: 3,
            inFlight: inFlight,
            milliseconds: 1,
            outcome: .complete
        )
    }

    private static let log = [entry("/a.png", inFlight: 1), entry("/b.png", inFlight: 4)]

    @Test("A correct run has no differences and a full table")
    func right() throws {
        let audit = try Audit(
            source: Self.source,
            target: ["a.png": Self.file, "b.png": Self.file],
            records: Self.records(),
            log: Self.log,
            inFlightLimit: 4,
            expected: ["finished": 2, "retried": 1, "dead": 1, "cancelled": 0]
        )
        #expect(audit.differences.isEmpty)
        let table = """
            finished           2
              of them retried  1
            dead               1
            cancelled          0
            bytes              6
            sha256 equal       2 of 2
            most in flight     4 of at most 4
            """
        #expect(audit.table(inFlightLimit: 4) == table)
    }

    @Test("Every kind of difference is found and named")
    func differences() throws {
        func audit(
            target: [String: Audit.File] = ["a.png": Self.file, "b.png": Self.file],
            records: [DownloadRecord]? = nil,
            log: [Traffic.Entry] = Self.log,
            limit: Int = 4,
            expected: [String: Int] = [:]
        ) throws -> [String] {
            try Audit(
                source: Self.source,
                target: target,
                records: records ?? Self.records(),
                log: log,
                inFlightLimit: limit,
                expected: expected
            ).differences
        }
        #expect(try audit(limit: 3) == ["4 requests were in flight at once, at most 3 allowed"])
        #expect(try audit(log: []) == ["the server's log is empty"])
        #expect(try audit(expected: ["cancelled": 1]) == ["0 downloads are cancelled, expected 1"])
        #expect(try audit(target: ["a.png": Self.file]) == ["b.png is missing (2)"])
        let damaged = Audit.File(bytes: 3, sha256: "bb")
        #expect(try audit(target: ["a.png": Self.file, "b.png": damaged]) == ["b.png differs: 3 of 3 bytes, bb"])
        let stray = ["a.png": Self.file, "b.png": Self.file, ".c.png.partial": Self.file]
        #expect(
            try audit(target: stray) == [".c.png.partial lies in the target, but no download that finished stored it"]
        )
        let fewer = try Array(Self.records().dropLast())
        #expect(try audit(records: fewer) == ["c.png was drawn, but never asked for"])
        let running = try fewer + [Self.record("3", "c.png", "executing")]
        #expect(try audit(records: running) == ["3 has not ended: executing"])
        #expect(try audit(records: []).contains("there is no download among the results"))
        let elsewhere = try Self.records() + [Self.record("4", "d.png", "finished")]
        #expect(try audit(records: elsewhere) == ["4 finished, but its URL names no file that was served"])
    }

    @Test("A wrong result about a correct file is found")
    func lyingResult() throws {
        let json = """
            {"id":"9","name":"download","state":"finished","attempt":1,"arguments":{"url":"http://h/a.png"},
             "result":{"bytes":3,"sha256":"zz","path":"/t/a.png"}}
            """
        let record = try JSONDecoder().decode(DownloadRecord.self, from: Data(json.utf8))
        let audit = Audit(
            source: ["a.png": Self.file],
            target: ["a.png": Self.file],
            records: [record],
            log: Self.log,
            inFlightLimit: 9
        )
        #expect(audit.differences == ["a.png is right, but the result of 9 says otherwise"])
    }

    @Test("The program prints the table and ends with 0, or names the difference and ends with 1")
    func program() async throws {
        let directory = try TemporaryDirectory()
        for folder in ["source", "target"] {
            let url = directory.url.appendingPathComponent(folder)
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
            try Data("abc".utf8).write(to: url.appendingPathComponent("a.png"))
        }
        let sum = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        try Data(
            """
            {"id":"1","name":"download","state":"finished","attempt":2,"arguments":{"url":"http://h/flaky/a.png"},\
            "result":{"bytes":3,"sha256":"\(sum)","path":"\(directory.path("target/a.png"))","status":200}}
            {"id":"2","name":"exec","state":"dead","attempt":1,"arguments":["x"],"result":7}

            """.utf8
        ).write(to: directory.url.appendingPathComponent("results"))
        try JSONEncoder().encode(Self.entry("/a.png", inFlight: 2)).write(
            to: directory.url.appendingPathComponent("log")
        )
        let arguments = [
            "check", "--source", directory.path("source"), "--target", directory.path("target"), "--log",
            directory.path("log"), "--results", directory.path("results"), "--max-in-flight", "2", "--expect",
            "finished=1,retried=1",
        ]
        let right = try await Program.run("image-run", arguments)
        #expect(right.code == 0, "\(right.errors)")
        #expect(right.output.contains("sha256 equal       1 of 1\n"))
        try Data("abd".utf8).write(to: directory.url.appendingPathComponent("target/a.png"))
        let wrong = try await Program.run("image-run", arguments)
        #expect(wrong.code == 1)
        #expect(wrong.errors.contains("a.png differs: 3 of 3 bytes"))
    }
}
