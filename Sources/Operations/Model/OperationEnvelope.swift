import Foundation

/// Name, arguments and options of an operation as one JSON object. A producer writes it, and Redis never reads it.
///
/// Only options that the producer has set are written. Unknown fields stay in the stored bytes.
package struct OperationEnvelope: Sendable, Equatable {
    /// The registered name of the type that runs the operation.
    package var name: String
    /// The arguments: one JSON value as UTF-8, usually an object.
    package var arguments: [UInt8]
    /// Words to find the operation by: at most 16, of 1 to 64 bytes.
    package var tags: [String]
    /// Texts that the body gets in addition to the arguments, at most 32; see `EnqueueOptions.headers(_:)`.
    package var headers: [String: String]
    /// Attempts and pauses, if the producer sets them. The type decides the rest.
    package var retry: RetryOverrides
    /// The longest time that one attempt may run; nil = the type's own limit.
    package var runTimeout: Duration?
    /// The operation that this one repeats.
    package var rerunOf: OperationID?
    /// The schedule that enqueued this operation.
    package var schedule: String?
    /// The id of the key with which `arguments` are encrypted; nil = they are clear text.
    package var encryptionKey: String?
    /// The id of the key that the signature names. The signature may still be wrong.
    package private(set) var signingKey: String?

    /// Makes an envelope to enqueue. The enqueue checks its name and limits.
    package init(
        name: String,
        arguments: [UInt8] = Array("{}".utf8),
        tags: [String] = [],
        headers: [String: String] = [:],
        retry: RetryOverrides = RetryOverrides(),
        runTimeout: Duration? = nil,
        rerunOf: OperationID? = nil
    ) {
        self.name = name
        self.arguments = arguments
        self.tags = tags
        self.headers = headers
        self.retry = retry
        self.runTimeout = runTimeout
        self.rerunOf = rerunOf
    }
}

extension OperationEnvelope {
    /// The number of attempts without knowledge of the type: the producer's, or the default.
    package var maxAttempts: Int { retry.attempts ?? SluiceDefaults.attempts }
}

// MARK: - Writing

extension OperationEnvelope {
    /// Returns the stored bytes: `{"name":…,"args":…}` and the options.
    package func encoded() -> [UInt8] {
        var json: [UInt8] = []
        json.reserveCapacity(arguments.count + name.utf8.count + 20)
        json += #"{"name":""#.utf8
        json += name.utf8  // NameRule allows nothing that JSON escapes
        json += #"","args":"#.utf8
        json += arguments
        if !tags.isEmpty, let encoded = try? JSONEncoder().encode(tags) { json += Array(",\"tags\":".utf8) + encoded }
        if !headers.isEmpty { json += Array(",\"headers\":".utf8) + Self.object(of: headers).serializedBytes() }
        if let attempts = retry.attempts { json += ",\"attempts\":\(attempts)".utf8 }
        if let base = retry.base { json += ",\"backoff\":\(base.wholeMilliseconds)".utf8 }
        if let ceiling = retry.ceiling { json += ",\"backoffMax\":\(ceiling.wholeMilliseconds)".utf8 }
        if let runTimeout { json += ",\"timeout\":\(runTimeout.wholeMilliseconds)".utf8 }
        if let rerunOf { json += ",\"rerunOf\":\"\(rerunOf)\"".utf8 }
        if let schedule { json += ",\"schedule\":\"\(schedule)\"".utf8 }
        if let encryptionKey { json += ",\"enc\":\"\(encryptionKey)\"".utf8 }
        json.append(UInt8(ascii: "}"))
        return json
    }

    /// Headers as a JSON object, in the order of their names.
    package static func object(of headers: [String: String]) -> JSONValue {
        .object(JSONObject(headers.sorted { $0.key < $1.key }.map { ($0.key, .string($0.value)) }))
    }

    /// Checks name, options and size.
    ///
    /// - Throws: `OperationsError` with `.invalidName`, `.invalidOption` or `.tooLarge`.
    package func validate() throws(OperationsError) {
        try NameRule.check(name, role: "operation name")
        if let attempts = retry.attempts, !(1...SluiceDefaults.maxAttempts).contains(attempts) {
            throw OperationsError(.invalidOption, "attempts is \(attempts): use 1 to \(SluiceDefaults.maxAttempts)")
        }
        try TimeLimit.check(retry.base, "the pause after the first failure", least: .zero)
        try TimeLimit.check(retry.ceiling, "the longest pause between attempts", least: .zero)
        try TimeLimit.check(runTimeout, "the run timeout")
        guard tags.count <= SluiceDefaults.tags else {
            throw OperationsError(.invalidOption, "\(tags.count) tags: use at most \(SluiceDefaults.tags)")
        }
        for tag in tags where tag.isEmpty || tag.utf8.count > SluiceDefaults.tagBytes {
            throw OperationsError(
                .invalidOption,
                "tag \(OperationsError.quoted(tag)): use 1 to \(SluiceDefaults.tagBytes) bytes"
            )
        }
        try HeaderRule.check(headers)
        let size = OperationHeader.byteCount + byteCountNearLimit
        guard size <= SluiceDefaults.operationBytes else {
            throw OperationsError(
                .tooLarge,
                "operation \"\(name)\" has \(size) bytes (arguments: \(arguments.count)); header and envelope may have \(SluiceDefaults.operationBytes): "
                    + "store the data elsewhere and pass its address"
            )
        }
    }
}

extension OperationEnvelope {
    /// An upper bound for all bytes except name and arguments: 16 tags of 64 bytes (each byte escaped as six), 4 KiB of
    /// headers (each byte escaped as two) and some numbers.
    private static let mostBesidesArguments = 16 << 10

    /// The number of stored bytes, exact near the limit. Far below the limit an estimate avoids the encoding.
    private var byteCountNearLimit: Int {
        let size = arguments.count + name.utf8.count
        return size + Self.mostBesidesArguments <= SluiceDefaults.operationBytes ? size : encoded().count
    }
}

// MARK: - Reading

extension OperationEnvelope {
    /// Reads stored bytes without looking into the arguments.
    ///
    /// - Throws: `.malformed` if the bytes are not a JSON object with a name.
    package init(_ bytes: [UInt8]) throws(OperationsError) {
        var fields = JSONFields(bytes)
        var name: String?
        self.init(name: "")
        while let (key, value) = try fields.next() {
            switch key {
            case "name": name = Self.string(value)
            case "args": arguments = Array(value)
            case "tags": tags = (try? JSONDecoder().decode([String].self, from: Data(value))) ?? []
            case "headers":
                headers = (try? JSONDecoder().decode([String: String].self, from: Data(value))) ?? [:]
            case "attempts": retry.attempts = Self.integer(value).map { min(max($0, 1), SluiceDefaults.maxAttempts) }
            case "backoff": retry.base = Self.duration(value)
            case "backoffMax": retry.ceiling = Self.duration(value)
            case "timeout": runTimeout = Self.duration(value)
            case "enc": encryptionKey = Self.string(value) ?? ""
            case "sig": signingKey = Self.string(value)?.split(separator: ":").first.map(String.init)
            case "schedule": schedule = Self.string(value).flatMap { NameRule.allows($0) ? $0 : nil }
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

    /// Milliseconds, limited to 100 years.
    private static func duration(_ json: ArraySlice<UInt8>) -> Duration? {
        integer(json).map { Duration.milliseconds($0).limited }
    }

    private static func integer(_ json: ArraySlice<UInt8>) -> Int? {
        String(decoding: json, as: UTF8.self).wholeNumber
    }
}

extension String {
    fileprivate var wholeNumber: Int? { Int(self).flatMap { $0 >= 0 ? $0 : nil } }
}
