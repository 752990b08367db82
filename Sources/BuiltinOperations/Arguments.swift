import Operations

/// Invalid arguments of a built-in operation. Not retryable, because another attempt would read the same arguments.
struct InvalidArguments: OperationFailing, CustomStringConvertible {
    let description: String

    init(_ name: String, _ problem: String) { description = "the arguments of \"\(name)\" do not fit: \(problem)" }

    var failureType: String { "arguments" }
    var isRetryable: Bool { false }
}

/// The arguments of one built-in operation, read by key.
struct Arguments {
    let name: String
    private let object: JSONObject

    init(_ json: [UInt8], of name: String) throws {
        self.name = name
        do {
            guard let object = try JSONValue(parsing: json).objectValue else {
                throw InvalidArguments(name, "they are not a JSON object")
            }
            self.object = object
        } catch let error as JSONSyntaxError {
            throw InvalidArguments(name, "\(error)")
        }
    }

    /// Throws for an argument that is not in the operation's reference.
    func allowDocumented() throws {
        guard let known = BuiltinReference.named(name)?.arguments else { return }
        try allow(only: known.map(\.name))
    }

    /// Throws for any key that is not listed.
    func allow(only keys: [String]) throws {
        for key in object.keys where !keys.contains(key) {
            throw InvalidArguments(
                name,
                "\(OperationsError.quoted(key)) is unknown; it takes \(keys.joined(separator: ", "))"
            )
        }
    }

    func optionalString(_ key: String) throws -> String? {
        try optional(key, "a string") { $0.stringValue }
    }

    func string(_ key: String) throws -> String { try required(key, optionalString(key)) }

    func optionalFlag(_ key: String) throws -> Bool? {
        try optional(key, "true or false") { $0.boolValue }
    }

    func optionalNumber(_ key: String) throws -> Double? {
        try optional(key, "a number") { $0.doubleValue }
    }

    func optionalSeconds(_ key: String, atMost most: Duration) throws -> Duration? {
        try optional(key, "a number of seconds up to \(Int(most.inSeconds))") { value in
            value.doubleValue.flatMap { $0 >= 0 && $0 <= most.inSeconds ? .seconds($0) : nil }
        }
    }

    func optionalStrings(_ key: String) throws -> [String]? {
        try optional(key, "an array of strings") { value in
            guard let elements = value.arrayValue else { return nil }
            let strings = elements.compactMap(\.stringValue)
            return strings.count == elements.count ? strings : nil
        }
    }

    /// Returns the value of a key; nil for null.
    func value(_ key: String) -> JSONValue? {
        guard let value = object[key], !value.isNull else { return nil }
        return value
    }

    func optionalStatuses(_ key: String) throws -> Set<Int>? {
        try optional(key, "an array of numbers from 200 to 599") { value in
            guard let numbers = value.arrayValue?.map(\.intValue), !numbers.isEmpty else { return nil }
            let statuses = numbers.compactMap { $0 }.filter { (200...599).contains($0) }
            return statuses.count == numbers.count ? Set(statuses) : nil
        }
    }

    func optionalStringMap(_ key: String) throws -> [String: String]? {
        try optional(key, "an object of strings") { value in
            guard let members = value.objectValue?.members else { return nil }
            let strings = members.compactMap { member in member.value.stringValue.map { (member.key, $0) } }
            return strings.count == members.count ? Dictionary(strings) { $1 } : nil
        }
    }

    func required<Value>(_ key: String, _ value: Value?) throws -> Value {
        guard let value else { throw InvalidArguments(name, "\"\(key)\" is missing") }
        return value
    }

    private func optional<Value>(_ key: String, _ kind: String, _ read: (JSONValue) -> Value?) throws -> Value? {
        guard let value = object[key], !value.isNull else { return nil }
        guard let found = read(value) else {
            throw InvalidArguments(name, "\"\(key)\" must be \(kind), not \(value.kind)")
        }
        return found
    }
}
