import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import Operations

extension Response {
    static func html(_ markup: Markup, status: HTTPResponse.Status = .ok) -> Response {
        text(markup.document, "text/html; charset=utf-8", status: status)
    }

    static func json(_ value: JSONValue, status: HTTPResponse.Status = .ok) -> Response {
        text(value.prettySerialized() + "\n", "application/json; charset=utf-8", status: status)
    }

    /// JSON with a tag of its content. A browser or program that has it gets only the status.
    static func json(_ value: JSONValue, for request: Request) -> Response {
        let text = value.prettySerialized() + "\n"
        let digits = SHA256.hash(data: Data(text.utf8)).prefix(8).map { String($0, radix: 36) }
        return unless(known: "\"\(digits.joined(separator: "-"))\"", for: request) {
            .text(text, "application/json; charset=utf-8")
        }
    }

    /// The content of a page, with the number of the snapshot as its tag.
    static func fragment(_ markup: Markup, of reading: Reading, for request: Request) -> Response {
        unless(known: "W/\"\(instance)-\(reading.sequence)\"", for: request) { .html(markup) }
    }

    /// Tells snapshots of this process from those of others.
    private static let instance = String(UInt32.random(in: .min ... .max), radix: 36)

    private static func unless(known tag: String, for request: Request, _ make: () -> Response) -> Response {
        let known = (request.headers[.ifNoneMatch] ?? "").split(separator: ",").map { $0.drop { $0 == " " } }
        if known.contains(Substring(tag)) { return Response(status: .notModified, headers: [.eTag: tag]) }
        var response = make()
        response.headers[.eTag] = tag
        return response
    }

    static func text(_ text: String, _ mediaType: String, status: HTTPResponse.Status = .ok) -> Response {
        Response(
            status: status,
            headers: [.contentType: mediaType],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text))
        )
    }

    /// Sends the browser to another page with GET.
    static func seeOther(_ link: Link, cookie: String? = nil) -> Response {
        var headers: HTTPFields = [.location: link.text]
        if let cookie { headers[.setCookie] = cookie }
        return Response(status: .seeOther, headers: headers)
    }

    /// A file of the program. A browser that has it gets only the status.
    static func asset(_ asset: Asset, for request: Request) -> Response {
        let isKnown = request.headers[.ifNoneMatch] == asset.entityTag
        return Response(
            status: isKnown ? .notModified : .ok,
            headers: [
                .contentType: asset.mediaType, .eTag: asset.entityTag, .cacheControl: ResponseRules.forever,
            ],
            body: isKnown ? ResponseBody() : ResponseBody(byteBuffer: ByteBuffer(bytes: asset.bytes))
        )
    }
}

extension Parameters {
    /// The variable part of a path, without its escapes.
    func name(_ key: String) throws -> String { FormFields.decoded(path: try require(key)) }
}

extension Request {
    /// The value of a cookie.
    func cookie(_ name: String) -> String? {
        for field in headers[values: .cookie] {
            for pair in field.split(separator: ";") {
                let parts = pair.split(separator: "=", maxSplits: 1)
                guard parts.count == 2 else { continue }
                if parts[0].trimmingPrefix(while: { $0 == " " }) == name { return String(parts[1]) }
            }
        }
        return nil
    }

    var theme: Theme { cookie(Theme.cookie).flatMap(Theme.init) ?? .system }

    /// The fields of the query.
    var fields: FormFields { FormFields(uri.query ?? "") }

    /// Reads the fields of a form.
    ///
    /// - Throws: `HTTPError` if the body is too large.
    func form(upTo most: Int = Limits.body) async throws -> FormFields {
        let body = try await body.collect(upTo: most)
        return FormFields(String(buffer: body))
    }
}
