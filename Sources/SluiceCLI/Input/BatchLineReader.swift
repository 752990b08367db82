import Operations
import Selectors
import Sluice
import TerminalText

/// Parses a line of a batch by the rules for a single enqueue.
struct BatchLineReader: Sendable {
    private static let fields = [
        "name", "args", "queue", "priority", "in", "at", "tags", "headers", "id", "expires", "attempts", "runTimeout",
        "track", "unique", "ifExists", "freshFor", "limitKey", "after", "group", "onSuccess", "onEnd", "onFirstDeath",
    ]
    /// The depth of the arguments plus the line's own object.
    private static let depth = SluiceDefaults.jsonDepth + 1

    let defaults: EnqueueSettings

    init(defaults: EnqueueSettings) {
        var defaults = defaults
        (defaults.id, defaults.givenQueue) = (nil, nil)
        self.defaults = defaults
    }

    /// Parses a line.
    ///
    /// - Returns: nil for an empty line.
    /// - Throws: `CLIError`, or an error with the message as its description.
    func request(_ bytes: ArraySlice<UInt8>) throws -> EnqueueInput? {
        guard bytes.contains(where: { $0 != 0x20 && $0 != 0x09 && $0 != 0x0D }) else { return nil }
        let line = try Line(bytes, maximumDepth: Self.depth)
        var settings = defaults
        try Self.apply(line.fields, to: &settings)
        guard let name = line.name else { throw Mistake(message: "\"name\" is missing") }
        try settings.check()
        return try settings.request(name: name, arguments: line.arguments ?? Array("{}".utf8))
    }

    /// The members of a line.
    private struct Line {
        var name: String?
        /// Compact JSON.
        var arguments: [UInt8]?
        /// The other members that are not null.
        var fields: [(key: String, value: JSONValue)] = []

        init(_ bytes: ArraySlice<UInt8>, maximumDepth: Int) throws {
            if let plain = PlainJSON(bytes, maximumDepth: maximumDepth) {
                for member in plain.members {
                    let key = plain.string(member.key)
                    if key == "args" {
                        arguments = Array(plain.bytes[member.value])
                    } else {
                        try add(key, Self.value(plain, member.value))
                    }
                }
                return
            }
            for member in try Self.object(bytes, maximumDepth).members {
                if member.key == "args" {
                    arguments = member.value.serializedBytes()
                } else {
                    try add(member.key, member.value)
                }
            }
        }

        private mutating func add(_ key: String, _ value: JSONValue) throws {
            if value.isNull { return }
            if key == "name" { name = try text(key, value) } else { fields.append((key, value)) }
        }

        private static func value(_ plain: PlainJSON, _ range: Range<Int>) throws -> JSONValue {
            guard plain.bytes[range.lowerBound] == UInt8(ascii: "\"") else {
                return try JSONValue(parsing: plain.bytes[range])
            }
            return .string(plain.string(range.lowerBound + 1..<range.upperBound - 1))
        }

        private static func object(_ bytes: ArraySlice<UInt8>, _ maximumDepth: Int) throws -> JSONObject {
            let limits = JSONLimits(maximumBytes: 2 * SluiceDefaults.operationBytes, maximumDepth: maximumDepth)
            let value: JSONValue
            do { value = try JSONValue(parsing: bytes, limits: limits) } catch {
                throw Mistake(message: "column \(error.column): found \(error.found), expected \(error.expected)")
            }
            guard let object = value.objectValue else {
                throw Mistake(message: "expected an object, found \(value.kind)")
            }
            return object
        }
    }
}

/// An error in a line.
private struct Mistake: Error, CustomStringConvertible {
    var message: String
    var description: String { message }
}

// MARK: - Fields

extension BatchLineReader {
    private static func apply(_ fields: [(key: String, value: JSONValue)], to settings: inout EnqueueSettings) throws {
        guard !fields.isEmpty else { return }
        for (key, value) in fields {
            do { try apply(key, value, to: &settings) } catch let error as CLIError {
                throw Mistake(message: "\"\(key)\": \(error.message)")
            }
        }
        let keys = fields.map(\.key)
        // "in" of a line replaces --at of the command line, and "at" replaces --in.
        if keys.contains("in"), !keys.contains("at") { settings.at = nil }
        if keys.contains("at"), !keys.contains("in") { settings.delay = nil }
        // --no-track does not apply to lines with a delay, which need a record.
        if settings.delay != nil || settings.at != nil, !keys.contains("track") { settings.noTrack = false }
    }

    private static func apply(_ key: String, _ value: JSONValue, to settings: inout EnqueueSettings) throws {
        switch key {
        case "queue":
            settings.queue = try text(key, value)
            settings.givenQueue = settings.queue
        case "priority": settings.priority = try OperationPriority(typed: text(key, value))
        case "in": settings.delay = try DurationText.parse(text(key, value))
        case "at": settings.at = try TimeText.parse(text(key, value))
        case "id": settings.id = try text(key, value)
        case "expires": settings.expires = try DurationText.parse(text(key, value))
        case "runTimeout": settings.runTimeout = try DurationText.parse(text(key, value))
        case "unique": settings.unique = try text(key, value)
        case "ifExists": settings.ifExists = try DuplicatePolicy(typed: text(key, value))
        case "freshFor": settings.freshFor = try DurationText.parse(text(key, value))
        case "limitKey": settings.limitKey = try text(key, value)
        case "after": settings.after = try dependencies(key, value)
        case "group": settings.groups = try (value.arrayValue ?? [value]).map { try group(key, $0) }
        case "onSuccess": settings.callbacks.append(.init(when: .success, group: try group(key, value)))
        case "onEnd": settings.callbacks.append(.init(when: .end, group: try group(key, value)))
        case "onFirstDeath": settings.callbacks.append(.init(when: .firstDeath, group: try group(key, value)))
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
        case "headers":
            let headers = value.objectValue?.members.map { ($0.key, $0.value.stringValue) }
            guard let headers, !headers.contains(where: { $0.1 == nil }) else {
                throw wrong(key, value, "an object of texts")
            }
            settings.headers = Dictionary(uniqueKeysWithValues: headers.map { ($0.0, $0.1 ?? "") })
        default:
            let near = Suggestion.nearest(to: key, among: fields).map { "; did you mean \"\($0)\"?" } ?? ""
            throw Mistake(message: "unknown field \(OperationsError.quoted(key))\(near)")
        }
    }
}

/// Reads a text in the form of `--after`, or a list of such texts.
private func dependencies(_ key: String, _ value: JSONValue) throws -> [OperationDependency] {
    guard let list = value.arrayValue else { return try OperationDependency.list(typed: text(key, value)) }
    return try list.map { try OperationDependency(typed: text(key, $0)) }
}

private func group(_ key: String, _ value: JSONValue) throws -> IDReference {
    try IDReference(parsing: text(key, value))
}

private func text(_ key: String, _ value: JSONValue) throws -> String {
    guard let text = value.stringValue else { throw wrong(key, value, "a text") }
    return text
}

private func wrong(_ key: String, _ value: JSONValue, _ expected: String) -> Mistake {
    Mistake(message: "\"\(key)\" is \(value.kind); expected \(expected)")
}
