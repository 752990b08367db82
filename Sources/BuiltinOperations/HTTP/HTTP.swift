import AsyncHTTPClient
import Crypto
import Foundation
import NIOCore
import NIOHTTP1
import Operations

extension OperationHandler {
    /// Sends an HTTP request and returns the response.
    ///
    /// Arguments: `url`, and optionally `method`, `headers`, `json` (any value) or `body` (a string), `timeout`
    /// (seconds, default 30), `expect` (the successful statuses, default 200 to 299). Redirects are followed. User and
    /// password in `url` become the header `Authorization: Basic`, only for that server.
    ///
    /// Result: `status`, `headers`, `bytes` and `sha256` of the body, and a body of up to 128 KiB, as `json` or, if it
    /// is text, as `body`. The operation is retried after 5xx, 408, 425, 429 and errors of the transfer, not before the
    /// server's `Retry-After`.
    static let http = OperationHandler(name: "http", runTimeout: SluiceDefaults.externalRunTimeout) { json, context in
        let arguments = try HTTPArguments(json)
        return try await TransferFailure.within(arguments.address) {
            try await withTimeout(arguments.timeout, arguments.title) {
                try await HTTPExchange(arguments: arguments).run()
            }
        }
    }
}

/// The arguments of `http`.
struct HTTPArguments: Sendable {
    let address: WebAddress
    let method: HTTPMethod
    let headers: HTTPHeaders
    let body: [UInt8]?
    let timeout: Duration
    private let expected: Set<Int>?

    init(_ json: [UInt8]) throws {
        let arguments = try Arguments(json, of: "http")
        try arguments.allowDocumented()
        address = try arguments.address("url")
        let content = try Self.content(arguments)
        body = content?.bytes
        method = try Self.method(arguments) ?? (content == nil ? .GET : .POST)
        headers = try Self.headers(arguments, type: content?.type, authorization: address.authorization)
        let seconds = try arguments.optionalNumber("timeout") ?? 30
        guard seconds > 0, seconds <= SluiceDefaults.externalRunTimeout.inSeconds else {
            throw InvalidArguments("http", "\"timeout\" must be a number of seconds up to one hour")
        }
        timeout = .seconds(seconds)
        expected = try arguments.optionalStatuses("expect")
    }

    var title: String { "\(method.rawValue) \(address.plain)" }

    func accepts(_ status: Int) -> Bool { expected?.contains(status) ?? (200..<300).contains(status) }

    private static func content(_ arguments: Arguments) throws -> (bytes: [UInt8], type: String)? {
        let text = try arguments.optionalString("body")
        guard let json = arguments.value("json") else {
            return text.map { (Array($0.utf8), "text/plain; charset=utf-8") }
        }
        guard text == nil else { throw InvalidArguments("http", "use \"json\" or \"body\", not both") }
        return (json.serializedBytes(), "application/json")
    }

    private static func method(_ arguments: Arguments) throws -> HTTPMethod? {
        guard let word = try arguments.optionalString("method") else { return nil }
        let known = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
        guard known.contains(word.uppercased()) else {
            throw InvalidArguments("http", "\"method\" must be one of \(known.joined(separator: ", "))")
        }
        return HTTPMethod(rawValue: word.uppercased())
    }

    private static func headers(
        _ arguments: Arguments,
        type: String?,
        authorization: String?
    ) throws -> HTTPHeaders {
        var headers = HTTPHeaders()
        for (name, value) in try arguments.optionalStringMap("headers") ?? [:] {
            let isName = !name.isEmpty && name.utf8.allSatisfy { $0 > 32 && $0 < 127 && $0 != UInt8(ascii: ":") }
            guard isName, value.utf8.allSatisfy({ $0 >= 32 && $0 != 127 }) else {
                throw InvalidArguments(
                    "http",
                    "\(OperationsError.quoted(name)) is not a header with a value of one line"
                )
            }
            guard !["content-length", "transfer-encoding"].contains(name.lowercased()) else {
                throw InvalidArguments(
                    "http",
                    "drop the header \(OperationsError.quoted(name)): it is set from the body"
                )
            }
            headers.add(name: name, value: value)
        }
        if let authorization {
            guard !headers.contains(name: "Authorization") else {
                throw InvalidArguments("http", "use a user in \"url\" or the header Authorization, not both")
            }
            headers.add(name: "Authorization", value: authorization)
        }
        if let type, !headers.contains(name: "Content-Type") { headers.add(name: "Content-Type", value: type) }
        if !headers.contains(name: "User-Agent") { headers.add(name: "User-Agent", value: "sluice") }
        return headers
    }
}

/// An HTTP request and its response.
private struct HTTPExchange {
    let arguments: HTTPArguments

    /// The most bytes of a body that are kept. As escaped JSON they may be six times as long, and still fit a result.
    private static let kept = 128 << 10
    /// The most bytes of a body that are read.
    private static let longest = 64 << 20
    /// The most characters of an error's body that are quoted.
    private static let quoted = 300

    func run() async throws -> [UInt8] {
        var request = HTTPClientRequest(url: arguments.address.url)
        request.method = arguments.method
        request.headers = arguments.headers
        if let body = arguments.body { request.body = .bytes(body) }
        let response = try await HTTPConnections.shared.execute(
            request,
            deadline: .now() + .nanoseconds(Int64(arguments.timeout.inSeconds * 1e9))
        )
        let body = try await receive(response)
        guard arguments.accepts(Int(response.status.code)) else {
            throw TransferFailure(response, to: arguments.title, (body.text ?? "").cut(toCharacters: Self.quoted))
        }
        return result(response, body).serializedBytes()
    }

    /// The body of a response, as far as it is kept.
    private struct Body {
        /// The bytes; nil = the body is too long.
        var bytes: [UInt8]? = []
        var count = 0
        var sum = SHA256()

        var text: String? { bytes.flatMap { String(validating: $0, as: UTF8.self) } }
    }

    private func receive(_ response: HTTPClientResponse) async throws -> Body {
        var body = Body()
        for try await buffer in response.body {
            try Task.checkCancellation()
            buffer.withUnsafeReadableBytes { bytes in
                body.sum.update(bufferPointer: bytes)
                if body.count + bytes.count <= Self.kept { body.bytes? += bytes } else { body.bytes = nil }
            }
            body.count += buffer.readableBytes
            guard body.count <= Self.longest else {
                throw TransferFailure(
                    type: "transfer",
                    "\(arguments.title) answered with more than \(Self.longest) bytes: use download for files",
                    isRetryable: false
                )
            }
        }
        return body
    }

    private func result(_ response: HTTPClientResponse, _ body: Body) -> JSONValue {
        var object = JSONObject([
            ("status", .number(Int(response.status.code))),
            ("headers", headers(response.headers)),
            ("bytes", .number(body.count)),
            ("sha256", .string(body.sum.finalize().hexadecimal)),
        ])
        let type = response.headers.first(name: "Content-Type")?.lowercased() ?? ""
        if type.contains("json"), let bytes = body.bytes, let value = try? JSONValue(parsing: bytes) {
            object["json"] = value
        } else if body.count > 0, let text = body.text {
            object["body"] = .string(text)
        }
        return .object(object)
    }

    /// Returns the headers by lowercase names. Leaves out cookies and passwords in URLs, which are secrets: results are
    /// displayed.
    private func headers(_ headers: HTTPHeaders) -> JSONValue {
        var object = JSONObject([])
        var room = 16 << 10
        for (name, value) in headers where name.lowercased() != "set-cookie" {
            room -= name.utf8.count + value.utf8.count
            guard room >= 0 else { break }
            let known = object[name.lowercased()]?.stringValue
            let shown = URLPasswords.masked(value)
            object[name.lowercased()] = .string(known.map { "\($0), \(shown)" } ?? shown)
        }
        return .object(object)
    }
}

/// Cancels a body that takes too long.
private func withTimeout<Result: Sendable>(
    _ limit: Duration,
    _ what: String,
    _ body: @escaping @Sendable () async throws -> Result
) async throws -> Result {
    try await withThrowingTaskGroup(of: Result.self) { group in
        group.addTask { try await body() }
        group.addTask {
            try await Task.sleep(for: limit)
            throw TransferFailure(type: "timeout", "\(what) took longer than \(limit)")
        }
        defer { group.cancelAll() }
        guard let result = try await group.next() else { throw CancellationError() }
        return result
    }
}

extension SHA256.Digest {
    /// The bytes as hexadecimal text.
    var hexadecimal: String { map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined() }
}
