import Foundation

extension JSONValue {
    /// Makes the JSON of an encodable value, with members sorted by key.
    /// - Parameters:
    ///   - value: The value.
    ///   - limits: The limits for its JSON.
    /// - Throws: The error of the encoding (`EncodingError`), or `JSONSyntaxError` if the JSON exceeds the limits.
    package init(encoding value: some Encodable, limits: JSONLimits = JSONLimits()) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        try self.init(parsing: encoder.encode(value), limits: limits)
    }

    /// Reads this value as a decodable type.
    /// - Parameter type: The type.
    /// - Returns: The decoded value.
    /// - Throws: `DecodingError` if the value does not fit the type.
    package func decoded<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
        try JSONDecoder().decode(type, from: Data(serializedBytes()))
    }
}
