import HTTPTypes
import Operations
import SluiceOperator
import Testing

@testable import SluiceDashboard

@Suite("API, export and files of the dashboard", .timeLimit(.minutes(60)))
struct APITests {
    @Test(
        "Each part of the API is JSON of version 1, and one that is known is not sent again",
        arguments: [
            "stats", "queues", "workers", "events", "statistics", "errors", "schedules", "groups", "operations",
        ]
    )
    func parts(_ name: String) async throws {
        let desk = Desk()
        try await desk.enqueue("Send")
        let answer = try await desk("/api/v1/\(name)")
        #expect(answer.status == 200)
        #expect(try JSONValue(parsing: answer.text)["v"] == 1)
        #expect(answer.headers[.eTag] != nil)
    }

    @Test("A program that has the newest answer gets only the status")
    func tags() async throws {
        let desk = Desk()
        let id = try await desk.enqueue("Send")[0]
        let path = "/api/v1/operations/\(id)?queue=mail"
        let tag = try #require(try await desk(path).headers[.eTag])
        let again = try await desk(path, headers: [.ifNoneMatch: "\"x\", \(tag)"])
        #expect(again.status == 304 && again.text.isEmpty)
        _ = try await desk.broker.cancel([id], request: CancelRequest(reason: "", by: "ann"), queue: "mail")
        #expect(try await desk(path, headers: [.ifNoneMatch: tag]).status == 200)
    }

    @Test("Wrong values are refused with their expected range")
    func wrong() async throws {
        let desk = Desk()
        for path in [
            "errors?limit=x", "events?limit=0", "events?since=later", "statistics?since=900d", "errors?q=nmae:x",
        ] {
            let answer = try await desk("/api/v1/\(path)")
            #expect(answer.status == 400, "\(path)")
            #expect(try JSONValue(parsing: answer.text)["error"]?["code"] == 400)
        }
        #expect(try await desk("/api/v1/statistics?queue=none").status == 404)
        #expect(try await desk("/api/v1/graph/7QK2MX").status == 404)
    }

    @Test("An export has all operations of the query, and no cell that a spreadsheet reads as a formula")
    func export() async throws {
        let desk = Desk()
        try await desk.enqueue("=1+1", "@x", "\tx", "plain", queue: "mail")
        for _ in 0..<600 { try await desk.enqueue("Send", queue: "video") }
        let all = try await desk("/export/operations.csv")
        #expect(all.headers[.contentDisposition] == "attachment; filename=\"operations.csv\"")
        let lines = all.text.split(separator: "\n")
        #expect(lines.count == 605 && lines[0] == OperationCSV.header[...])
        #expect(all.text.contains(",'=1+1,") && all.text.contains(",'@x,") && !all.text.contains("\t"))
        let some = try await desk("/export/operations.jsonl?state=ready&q=queue:mail").text.split(separator: "\n")
        #expect(some.count == 4)
        #expect(try JSONValue(parsing: String(some[0]))["queue"] == "mail")
        #expect(try await desk("/export/operations.xls").status == 404)
    }

    @Test("Hidden values are hidden in files and exports")
    func hidden() async throws {
        let desk = Desk(view: PayloadView(redaction: try Redaction(parsing: "args.password", hidesAll: false)))
        let id = try await desk.enqueue("Send", arguments: ["password": "secret", "to": "ann"])[0]
        let file = try await desk("/ops/\(id)/files/arguments.txt?queue=mail")
        #expect(file.headers[.contentType] == "text/plain; charset=utf-8")
        #expect(file.headers[.contentDisposition]?.hasPrefix("attachment") ?? false)
        #expect(file.text.contains("ann") && !file.text.contains("secret"))
        #expect(!(try await desk("/export/operations.jsonl").text).contains("secret"))
    }

    @Test("A search does not reveal the password of a URL")
    func passwords() async throws {
        let desk = Desk()
        try await desk.enqueue("Send", arguments: ["url": "https://bob:s3cr@example.com/x"])
        func count(_ query: String) async throws -> Int? {
            let link = Links(basePath: "").to("api", "v1", "operations", query: ["q": query]).text
            return try JSONValue(parsing: try await desk(link).text)["operations"]?.arrayValue?.count
        }
        for query in ["args.url:\"https://bob:s\"*", "\"bob:s3\"", "args.url:*s3cr*", "text:s3cr"] {
            #expect(try await count(query) == 0, "\(query)")
        }
        #expect(try await count("args.url:*example.com*") == 1)
        #expect(try await count("args.url:\"https://bob:***@example.com/x\"") == 1)
    }

    @Test("Suggestions are the fields of the query language, and the queues, names and tags that are known")
    func words() async throws {
        let desk = Desk()
        try await desk.enqueue("Send", tags: ["vip"])
        _ = try await desk("/ops")
        let words = try JSONValue(parsing: try await desk("/live/words").text)
        #expect(words["values"]?["queue"] == ["mail"] && words["values"]?["name"] == ["Send"])
        #expect(words["values"]?["tag"] == ["vip"])
        #expect(words["fields"]?.arrayValue?.contains("limitKey:") ?? false)
    }

    @Test("The scripts of the pages are small")
    func size() {
        let scripts = [Asset.script, .stream, .keys]
        #expect(scripts.reduce(0) { $0 + $1.bytes.count } < 40 * 1024)
    }
}
