import Foundation

/// What the producer says about an operation and Redis never looks into: name, arguments and options, as one JSON object.
///
/// Only what differs from the defaults is written. Fields that this version does not know stay in the stored bytes.
public struct OperationEnvelope: Sendable, Equatable {
    /// The registered type that runs it.
    public var name: String
    /// Its arguments: one JSON value as UTF-8, usually an object.
    public var arguments: [UInt8]
    public var tags: [String]
    public var retry: RetryPolicy
    /// Longest time that one attempt may run; nil = the type's own limit.
    public var runTimeout: Duration?
    /// The operation that this one repeats.
    public var rerunOf: OperationID?

    public init(
        name: String,
        arguments: [UInt8] = Array("{}".utf8),
        tags: [String] = [],
        retry: RetryPolicy = RetryPolicy(),
        runTimeout: Duration? = nil,
        rerunOf: OperationID? = nil
    ) {
        self.name = name
        self.arguments = arguments
        self.tags = tags
        self.retry = retry
        self.runTimeout = runTimeout
        self.rerunOf = rerunOf
    }
}

// MARK: - Writing

extension OperationEnvelope {
    /// The stored bytes: `{"name":…,"args":…}` and whatever is not the default.
    package func encoded() -> [UInt8] {
        var json: [UInt8] = []
        json.reserveCapacity(arguments.count + name.utf8.count + 20)
        json += #"{"name":""#.utf8
        json += name.utf8  // NameRule allows nothing that JSON escapes
        json += #"","args":"#.utf8
        json += arguments
        if !tags.isEmpty, let encoded = try? JSONEncoder().encode(tags) { json += Array(",\"tags\":".utf8) + encoded }
        if retry.attempts != Defaults.attempts { json += ",\"attempts\":\(retry.attempts)".utf8 }
        if retry.base != Defaults.backoffBase { json += ",\"backoff\":\(retry.base.wholeMilliseconds)".utf8 }
        if retry.ceiling != Defaults.backoffCeiling {
            json += ",\"backoffMax\":\(retry.ceiling.wholeMilliseconds)".utf8
        }
        if let runTimeout { json += ",\"timeout\":\(runTimeout.wholeMilliseconds)".utf8 }
        if let rerunOf { json += ",\"rerunOf\":\"\(rerunOf)\"".utf8 }
        json.append(UInt8(ascii: "}"))
        return json
    }

    /// Checks what a producer may have got wrong.
    ///
    /// - Throws: `OperationsError` with `.invalidName`, `.invalidOption` or `.tooLarge`.
    package func validate() throws(OperationsError) {
        try NameRule.check(name, role: "operation name")
        guard (1...Defaults.maxAttempts).contains(retry.attempts) else {
            throw OperationsError(.invalidOption, "attempts is \(retry.attempts): use 1 to \(Defaults.maxAttempts)")
        }
        guard tags.count <= Defaults.tags else {
            throw OperationsError(.invalidOption, "\(tags.count) tags: at most \(Defaults.tags) are allowed")
        }
        for tag in tags where tag.isEmpty || tag.utf8.count > Defaults.tagBytes {
            throw OperationsError(
                .invalidOption,
                "tag \(OperationsError.quoted(tag)): use 1 to \(Defaults.tagBytes) bytes"
            )
        }
        let size = OperationHeader.byteCount + arguments.count + name.utf8.count + 20
        guard size <= Defaults.operationBytes else {
            throw OperationsError(
                .tooLarge,
                "\"\(name)\" has \(arguments.count) bytes of arguments; header and envelope may have \(Defaults.operationBytes): "
                    + "store the data elsewhere and pass its address"
            )
        }
    }
}

// MARK: - Reading

extension OperationEnvelope {
    /// Reads stored bytes without looking into the arguments.
    ///
    /// - Throws: `.malformed` if they are no JSON object with a name.
    package init(_ bytes: [UInt8]) throws(OperationsError) {
        var fields = JSONFields(bytes)
        var name: String?
        self.init(name: "")
        while let (key, value) = try fields.next() {
            switch key {
            case "name": name = Self.string(value)
            case "args": arguments = Array(value)
            case "tags": tags = (try? JSONDecoder().decode([String].self, from: Data(value))) ?? []
            case "attempts": retry.attempts = Self.integer(value) ?? retry.attempts
            case "backoff": retry.base = Self.integer(value).map { .milliseconds($0) } ?? retry.base
            case "backoffMax": retry.ceiling = Self.integer(value).map { .milliseconds($0) } ?? retry.ceiling
            case "timeout": runTimeout = Self.integer(value).map { .milliseconds($0) }
            case "rerunOf": rerunOf = Self.string(value).flatMap { OperationID($0) }
            default: break
            }
        }
        guard let name else { throw OperationsError(.malformed, "an envelope has no \"name\"") }
        self.name = name
    }

    private static func string(_ json: ArraySlice<UInt8>) -> String? {
        guard json.count >= 2, json.first == UInt8(ascii: "\"") else { return nil }
        let inner = json.dropFirst().dropLast()
        if !inner.contains(UInt8(ascii: "\\")) { return String(validating: inner, as: UTF8.self) }
        return try? JSONDecoder().decode(String.self, from: Data(json))
    }

    private static func integer(_ json: ArraySlice<UInt8>) -> Int? {
        String(decoding: json, as: UTF8.self).wholeNumber
    }
}

extension String {
    fileprivate var wholeNumber: Int? { Int(self).flatMap { $0 >= 0 ? $0 : nil } }
}
