import Foundation
import Operations
import Sluice
import SluiceMonitor

/// A file of operations, one JSON object a line, checked as a whole before anything is sent.
package struct BatchFile: Sendable {
    private static let chunk = 1 << 20
    private static let fields = [
        "name", "args", "queue", "priority", "in", "at", "tags", "id", "expires", "attempts", "runTimeout", "track",
    ]

    private let name: String
    private let defaults: EnqueueSettings
    private var ids: [OperationID: Int] = [:]

    package init(name: String, defaults: EnqueueSettings) {
        self.name = name
        self.defaults = defaults
    }

    /// Reads all lines. Empty ones are skipped.
    ///
    /// - Throws: `CLIError` with `.usage` that names file and line.
    package mutating func read(_ handle: FileHandle) throws -> [EnqueueRequest] {
        var requests: [EnqueueRequest] = []
        var rest: [UInt8] = []
        var line = 0
        while let data = try handle.read(upToCount: Self.chunk), !data.isEmpty {
            rest += data
            var start = 0
            while let end = rest[start...].firstIndex(of: UInt8(ascii: "\n")) {
                line += 1
                if let request = try request(rest[start..<end], line) { requests.append(request) }
                start = end + 1
            }
            rest.removeFirst(start)
            guard rest.count <= 2 * Defaults.operationBytes else {
                throw error(line + 1, "the line is longer than 2 MiB")
            }
        }
        if let request = try request(rest[...], line + 1) { requests.append(request) }
        return requests
    }

    /// - Returns: nil for an empty line.
    package mutating func request(_ bytes: ArraySlice<UInt8>, _ line: Int) throws(CLIError) -> EnqueueRequest? {
        guard bytes.contains(where: { $0 > 0x20 }) else { return nil }
        let object = try object(bytes, line)
        do {
            var settings = defaults
            settings.id = nil
            try Self.apply(object, to: &settings)
            guard let name = object["name"]?.stringValue else { throw Mistake(message: "\"name\" is missing") }
            try settings.check()
            let request = try settings.request(name: name, arguments: object["args"] ?? [:])
            try note(settings.id == nil ? nil : request.operation.id, line)
            return request
        } catch {
            throw self.error(line, (error as? CLIError)?.message ?? String(describing: error))
        }
    }

    private mutating func note(_ id: OperationID?, _ line: Int) throws(Mistake) {
        guard let id else { return }
        if let first = ids.updateValue(line, forKey: id) {
            throw Mistake(message: "the \"id\" is that of line \(first)")
        }
    }

    private func object(_ bytes: ArraySlice<UInt8>, _ line: Int) throws(CLIError) -> JSONObject {
        let value: JSONValue
        do { value = try JSONValue(parsing: bytes, limits: JSONLimits(maximumBytes: 2 << 20)) } catch {
            throw self.error(line, "column \(error.column): found \(error.found), expected \(error.expected)")
        }
        guard let object = value.objectValue else { throw error(line, "\(value.kind) where an object must be") }
        return object
    }

    private func error(_ line: Int, _ message: String) -> CLIError {
        CLIError(
            .usage,
            "\(name):\(line): \(message); nothing was enqueued",
            fix: #"a line like {"name":"sleep","args":{"seconds":3},"queue":"mail","priority":"high"}"#
        )
    }
}

/// What is wrong with a line.
private struct Mistake: Error, CustomStringConvertible {
    var message: String
    var description: String { message }
}

// MARK: - Fields

extension BatchFile {
    private static func apply(_ object: JSONObject, to settings: inout EnqueueSettings) throws {
        for member in object.members where !member.value.isNull {
            do { try apply(member.key, member.value, to: &settings) } catch let error as CLIError {
                throw Mistake(message: "\"\(member.key)\": \(error.message)")
            }
        }
        // A line's own time replaces the other kind from the command line.
        if object["in"] != nil, object["at"] == nil { settings.at = nil }
        if object["at"] != nil, object["in"] == nil { settings.delay = nil }
        // --no-track is for the lines that can do without a record.
        if settings.delay != nil || settings.at != nil, object["track"] == nil { settings.noTrack = false }
    }

    private static func apply(_ key: String, _ value: JSONValue, to settings: inout EnqueueSettings) throws {
        switch key {
        case "name", "args": break
        case "queue": settings.queue = try text(key, value)
        case "priority": settings.priority = try OperationPriority(typed: text(key, value))
        case "in": settings.delay = try DurationText.parse(text(key, value))
        case "at": settings.at = try TimeText.parse(text(key, value))
        case "id": settings.id = try text(key, value)
        case "expires": settings.expires = try DurationText.parse(text(key, value))
        case "runTimeout": settings.runTimeout = try DurationText.parse(text(key, value))
        case "attempts":
            guard let number = value.intValue else { throw wrong(key, value, "a whole number") }
            settings.attempts = number
        case "track":
            guard let flag = value.boolValue else { throw wrong(key, value, "true or false") }
            settings.noTrack = !flag
        case "tags":
            guard let tags = value.arrayValue?.map(\.stringValue), !tags.contains(nil) else {
                throw wrong(key, value, "a list of texts")
            }
            settings.tags = tags.compactMap { $0 }
        default:
            let near = Suggestion.nearest(to: key, among: fields).map { "; did you mean \"\($0)\"?" } ?? ""
            throw Mistake(message: "unknown field \(OperationsError.quoted(key))\(near)")
        }
    }

    private static func text(_ key: String, _ value: JSONValue) throws -> String {
        guard let text = value.stringValue else { throw wrong(key, value, "a text") }
        return text
    }

    private static func wrong(_ key: String, _ value: JSONValue, _ expected: String) -> Mistake {
        Mistake(message: "\"\(key)\" is \(value.kind) where \(expected) must be")
    }
}
