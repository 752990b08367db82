import Foundation
import NIOHTTP1
import Operations
import TestSupport
import Testing

@testable import BuiltinOperations
@testable import BrokerModel
@testable import WorkerRuntime

@Suite("http", .timeLimit(.minutes(60)))
struct HTTPTests {
    private let harness = Harness(handlers: BuiltinOperations.handlers(allowed: ["http"]).filter { $0.name == "http" })

    /// - Parameter timeout: in seconds; so long that only a test of the timeout meets it.
    private func ask(
        _ server: TinyServer,
        _ more: String = "",
        path: String = "/x",
        timeout: Double = 600,
        retry: RetryPolicy = .never
    ) async throws -> OperationID {
        let arguments = #"{"url":"\#(server.url(path))","timeout":\#(timeout)\#(more)}"#
        return try await harness.broker.put("http", arguments, retry: retry)
    }

    private func answer(_ id: OperationID) async throws -> JSONValue {
        try JSONValue(parsing: try await harness.result(id) ?? "")
    }

    @Test("http sends method, headers and body, and returns status, headers and body")
    func exchanges() async throws {
        harness.start()
        let server = try TinyServer { path in
            let type = path == "/json" ? "application/problem+json" : "text/plain"
            return [
                .head("201 Created", "Content-Type: \(type)", "Set-Cookie: secret=1", "X-One: a", "X-One: b"),
                .bytes(Array(path == "/binary" ? [0xff, 0xfe] : Array(#"{"id":9007199254740993}"#.utf8))),
            ]
        }
        let json = try await ask(server, #","json":{"a":[1]},"headers":{"X-Token":"t"}"#, path: "/json")
        let text = try await ask(server, #","method":"put","body":"ä""#, path: "/text")
        let binary = try await ask(server, path: "/binary")
        for id in [json, text, binary] { #expect(try await harness.reaches(.finished, id)) }
        #expect(try await answer(json)["json"]?.serialized() == #"{"id":9007199254740993}"#)
        #expect(try await answer(json)["status"]?.intValue == 201)
        let headers = try await answer(json)["headers"]
        #expect(headers?["x-one"]?.stringValue == "a, b" && headers?["set-cookie"] == nil)
        #expect(try await answer(text)["body"]?.stringValue == #"{"id":9007199254740993}"#)
        #expect(try await answer(binary)["body"] == nil)
        #expect(try await answer(binary)["bytes"]?.intValue == 2)
        let requests = Dictionary(
            uniqueKeysWithValues: server.requestTexts.map {
                ($0.split(separator: " ").prefix(2).joined(separator: " "), $0)
            }
        )
        #expect(Set(requests.keys) == ["POST /json", "PUT /text", "GET /binary"])
        let post = try #require(requests["POST /json"]).lowercased()
        #expect(post.contains("content-type: application/json") && post.contains("x-token: t"))
        #expect(post.hasSuffix("\r\n\r\n{\"a\":[1]}"))
        #expect(requests["PUT /text"]?.hasSuffix("\r\n\r\nä") == true)
        try await harness.stop()
    }

    @Test("A body that is too long to store is returned as a checksum, and reading stops at a limit")
    func bounds() async throws {
        harness.start()
        let chunk = [UInt8](repeating: 65, count: 1 << 20)
        let server = try TinyServer { path in
            [.head("200 OK")] + (0..<(path == "/long" ? 1 : 100)).map { _ in .bytes(chunk) }
        }
        let long = try await ask(server, path: "/long")
        #expect(try await harness.reaches(.finished, long))
        let answer = try await answer(long)
        #expect(answer["bytes"]?.intValue == 1 << 20 && answer["body"] == nil)
        #expect(answer["sha256"]?.stringValue?.count == 64)
        let endless = try await ask(server, path: "/endless", retry: RetryPolicy())
        #expect(try await harness.reaches(.dead, endless))
        #expect(try await harness.error(endless)?.verdict == .final)
        try await harness.stop()
    }

    @Test(
        "The status decides whether a request is retried, and a retry waits as long as the server asks",
        arguments: [
            ("404 Not Found", "X: y", OperationState.dead, 0), ("422 No", "X: y", .dead, 0),
            ("500 Oops", "X: y", .retrying, 60), ("503 Busy", "Retry-After: 120", .retrying, 120),
            ("429 Slow", "Retry-After: 99999999999999999999", .retrying, 86_400),
            ("503 Busy", "Retry-After: soon", .retrying, 60), ("429 Slow", "Retry-After: -5", .retrying, 60),
            ("503 Busy", "Retry-After: 0", .retrying, 60), ("429 Slow", "Retry-After: 00", .retrying, 60),
            ("503 Busy", "Retry-After: Mon, 13 Nov 2023 22:13:50 GMT", .retrying, 60),
            ("304 Not Modified", "X: y", .dead, 0),
        ]
    )
    func statuses(line: String, header: String, state: OperationState, seconds: Int64) async throws {
        harness.start()
        let server = try TinyServer { _ in
            [.head(line, header), .bytes(line.hasPrefix("304") ? [] : Array("because".utf8))]
        }
        // The pause is long, so that the test sees the state before the next attempt.
        let id = try await ask(server, retry: RetryPolicy(attempts: 2, base: .seconds(60)))
        #expect(try await harness.reaches(state, id))
        let error = try await harness.error(id)
        #expect(error?.type == "http" && error?.details == ["status": Int(line.prefix(3)) ?? 0])
        if line.hasPrefix("422") {
            #expect(error?.message == "GET \(server.url("/x")) answered 422 Unprocessable Entity: because")
        }
        if state == .retrying {
            let detail = try #require(try await harness.detail(id))
            let failedAt = try #require(detail.errors.last?.at)
            let pause = detail.record.dueAt - failedAt
            #expect(pause >= seconds * 1000 && pause <= seconds * 1500)
        }
        try await harness.stop()
    }

    @Test("Credentials of the URL go to its server, but not to another server after a redirect")
    func credentials() async throws {
        harness.start()
        let other = try TinyServer { _ in [.head("200 OK")] }
        let server = try TinyServer { path in
            switch path {
            case "/near": [.head("302 Found", "Location: /x")]
            case "/far": [.head("302 Found", "Location: \(other.url("/x"))")]
            default: [.head("201 Created", "Location: http://u:pw@h/1")]
            }
        }
        func ask(_ path: String, _ userinfo: String) async throws -> OperationID {
            let url = server.url(path).replacingOccurrences(of: "//", with: "//\(userinfo)@")
            return try await harness.broker.put("http", #"{"url":"\#(url)","timeout":600}"#, retry: .never)
        }
        let cases = [
            ("/one", "us%3Aer:p%40ss", "us:er:p@ss"), ("/two", "token", "token:"), ("/three", ":pw", ":pw"),
            ("/four", "ü:ß", "ü:ß"),
        ]
        for (path, userinfo, credentials) in cases {
            let id = try await ask(path, userinfo)
            #expect(try await harness.reaches(.finished, id))
            let request = server.requestTexts.first { $0.hasPrefix("GET \(path) ") } ?? ""
            let token = Data(credentials.utf8).base64EncodedString()
            #expect(request.contains("Authorization: Basic \(token)\r\n"), "\(request)")
            #expect(!request.contains("@127"), "\(request)")
            #expect(try await harness.result(id)?.contains("pw@h") == false)
        }
        for path in ["/near", "/far"] {
            #expect(try await harness.reaches(.finished, try await ask(path, "user:pw")))
        }
        #expect(server.requestTexts.last?.contains("Authorization: Basic dXNlcjpwdw==") == true)
        #expect(other.requestTexts.count == 1 && !other.requestTexts[0].contains("Authorization"))
        try await harness.stop()
    }

    @Test("A date in Retry-After is read by the server's clock")
    func dates() {
        func pause(_ retryAfter: String, _ date: String? = nil) -> Duration? {
            var headers = HTTPHeaders([("Retry-After", retryAfter)])
            if let date { headers.add(name: "Date", value: date) }
            return RetryAfter.read(headers, now: Date(timeIntervalSince1970: 1_700_000_000))
        }
        #expect(pause("Tue, 14 Nov 2023 22:13:50 GMT") == .seconds(30))
        #expect(pause("Tue, 14 Nov 2023 22:13:50 GMT", "Tue, 14 Nov 2023 22:13:45 GMT") == .seconds(5))
        #expect(pause("Tuesday, 14-Nov-23 22:13:50 GMT") == .seconds(30))
        #expect(pause("Tue Nov 14 22:13:50 2023") == .seconds(30))
        #expect(pause("Tue Nov  7 22:13:50 2023", "Tuesday, 07-Nov-23 22:13:20 GMT") == .seconds(30))
        #expect(pause("Monday, 14-Nov-94 22:13:50 GMT") == .zero)
        #expect(pause("Mon, 13 Nov 2023 22:13:50 GMT") == .zero)
        #expect(pause("Tue, 14 Nov 2033 22:13:50 GMT") == RetryAfter.longest)
        #expect(pause("") == nil && pause("1.5") == nil && pause("٣") == nil)
    }

    @Test("Expected statuses count as success; a request ends at its timeout and on cancel")
    func ends() async throws {
        harness.start()
        let gate = Latch()
        let server = try TinyServer { path in
            path == "/gone" ? [.head("404 Not Found")] : [.head("200 OK", "Content-Length: 9"), .gate(gate)]
        }
        let expected = try await ask(server, #","expect":[200,404]"#, path: "/gone")
        #expect(try await harness.reaches(.finished, expected))
        let late = try await ask(server, path: "/late", timeout: 0.2)
        #expect(try await harness.reaches(.dead, late))
        #expect(try await harness.error(late)?.verdict == .exhausted)
        let cancelled = try await ask(server, path: "/cancelled")
        // Not a number of requests: the late one may have ended before the server read it.
        #expect(await comesTrue { server.requests.contains("/cancelled") })
        _ = try await harness.cancel(cancelled)
        #expect(try await harness.reaches(.cancelled, cancelled))
        gate.open()
        try await harness.stop()
    }

    @Test(
        "Arguments that http cannot use are refused for good",
        arguments: [
            #"{}"#, #"{"url":"file:///etc/passwd"}"#, #"{"url":"http://h/","method":"TRACE"}"#,
            #"{"url":"http://h/","headers":{"A":"b\r\nC: d"}}"#, #"{"url":"http://h/","headers":{"A B":"c"}}"#,
            #"{"url":"http://h/","headers":{"Content-Length":"3"}}"#, #"{"url":"http://h/","json":1,"body":"x"}"#,
            #"{"url":"http://h/","timeout":0}"#, #"{"url":"http://h/","expect":[20]}"#,
            #"{"url":"http://h/","data":1}"#,
        ]
    )
    func wrongArguments(json: String) async throws {
        harness.start()
        let id = try await harness.broker.put("http", json)
        #expect(try await harness.reaches(.dead, id))
        #expect(try await harness.error(id)?.type == "arguments")
        try await harness.stop()
    }
}
