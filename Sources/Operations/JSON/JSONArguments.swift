import Foundation

/// Arguments of an operation that is enqueued by its name, written as a literal.
///
/// ```swift
/// try await sluice.enqueue(name: "image.resize", arguments: ["path": "a.png", "widths": [200, 400]])
/// ```
///
/// Members keep their order, and integers are exact. Use `init(encoding:)` for a value of your own type.
public struct JSONArguments: Sendable, Hashable {
    package let value: JSONValue

    package init(_ value: JSONValue) { self.value = value }

    /// Encodes a value; members are in the order of their names.
    ///
    /// - Parameter value: any value that a `JSONEncoder` can encode.
    /// - Throws: `EncodingError`, for example for a number that is not finite; `OperationsError` with `.malformed` for
    ///   more than 1 MiB or 64 levels.
    public init(encoding value: some Encodable) throws {
        do { self.value = try JSONValue(encoding: value) } catch let error as JSONSyntaxError {
            throw OperationsError(.malformed, "the arguments cannot be stored as JSON: \(error)")
        }
    }

    /// Parses JSON.
    ///
    /// - Parameter text: one JSON value.
    /// - Throws: `OperationsError` with `.malformed` and the position of the first error.
    public init(parsing text: String) throws {
        do { value = try JSONValue(parsing: Array(text.utf8)) } catch {
            throw OperationsError(.malformed, "the arguments are not JSON: \(error)")
        }
    }
}

extension JSONArguments: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByStringLiteral,
    ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// `null`.
    public init(nilLiteral: ()) { value = .null }
    /// `true` or `false`.
    public init(booleanLiteral flag: Bool) { value = .bool(flag) }
    /// A string.
    public init(stringLiteral text: String) { value = .string(text) }
    /// An integer.
    public init(integerLiteral integer: Int) { value = .number(integer) }
    /// A number.
    public init(floatLiteral number: Double) { value = JSONValue(number) }
    /// An array.
    public init(arrayLiteral elements: JSONArguments...) { value = .array(elements.map(\.value)) }
    /// An object with its members in the order written. If keys are equal, the last value counts.
    public init(dictionaryLiteral elements: (String, JSONArguments)...) {
        value = .object(JSONObject(elements.map { ($0, $1.value) }))
    }

    /// A string.
    public init(_ text: String) { value = .string(text) }
    /// An integer, exactly.
    public init(_ integer: some FixedWidthInteger) { value = .number(integer) }
    /// A number; `null` if the number is not finite.
    public init(_ number: Double) { value = JSONValue(number) }
    /// `true` or `false`.
    public init(_ flag: Bool) { value = .bool(flag) }
}
