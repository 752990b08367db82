/// A JSON value (RFC 8259) that keeps all information: object members keep their order, and numbers keep their literal.
///
/// So integers are exact to 64 bits and far beyond. Two values are equal if they have the same members in the same
/// order and the same number literals (`1` and `1.0` differ). Strings are compared as Swift compares them.
package enum JSONValue: Sendable, Hashable {
    /// `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A number, as its literal.
    case number(JSONNumber)
    /// A string.
    case string(String)
    /// An array.
    case array([JSONValue])
    /// An object, its members in order.
    case object(JSONObject)

    /// Makes a JSON number from an integer.
    /// - Parameter integer: The integer; every fixed-width integer is written exactly.
    /// - Returns: The number.
    package static func number(_ integer: some FixedWidthInteger) -> JSONValue { .number(JSONNumber(integer)) }

    /// Makes a string, or `null` for `nil`.
    /// - Parameter text: The string.
    package init(_ text: String?) { self = text.map(JSONValue.string) ?? .null }

    /// Makes an integer, or `null` for `nil`.
    /// - Parameter integer: The integer.
    package init(_ integer: (some FixedWidthInteger)?) { self = integer.map { .number(JSONNumber($0)) } ?? .null }

    /// Makes a floating-point number, or `null` for `nil` and for numbers that JSON cannot write (not a number,
    /// infinity).
    /// - Parameter double: The number.
    package init(_ double: Double?) { self = double.flatMap(JSONNumber.init).map(JSONValue.number) ?? .null }

    /// Makes a truth value, or `null` for `nil`.
    /// - Parameter flag: The truth value.
    package init(_ flag: Bool?) { self = flag.map(JSONValue.bool) ?? .null }
}

extension JSONValue {
    /// Whether this is `null`.
    package var isNull: Bool { self == .null }

    /// The truth value, or `nil` for another kind of value.
    package var boolValue: Bool? { if case .bool(let flag) = self { flag } else { nil } }

    /// The number, or `nil` for another kind of value.
    package var numberValue: JSONNumber? { if case .number(let number) = self { number } else { nil } }

    /// The string, or `nil` for another kind of value.
    package var stringValue: String? { if case .string(let text) = self { text } else { nil } }

    /// The elements of an array, or `nil` for another kind of value.
    package var arrayValue: [JSONValue]? { if case .array(let elements) = self { elements } else { nil } }

    /// The members of an object, or `nil` for another kind of value.
    package var objectValue: JSONObject? { if case .object(let members) = self { members } else { nil } }

    /// The integer, if this is a number that is written as an integer and fits `Int` (64 bits).
    package var intValue: Int? { numberValue?.integer() }

    /// The number rounded to the nearest `Double`, if this is a number of finite size.
    package var doubleValue: Double? { numberValue?.double }

    /// The kind of value, for messages: `an object`, `a string`, `null`.
    package var kind: String {
        switch self {
        case .null: "null"
        case .bool: "a boolean"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }

    /// The value of an object's member.
    /// - Parameter key: The member's key.
    /// - Returns: The value; `nil` if no member has this key, or this is not an object.
    package subscript(key: String) -> JSONValue? { objectValue?[key] }

    /// An element of an array.
    /// - Parameter index: The position, from 0.
    /// - Returns: The element; `nil` beyond the end, or if this is not an array.
    package subscript(index: Int) -> JSONValue? {
        guard let elements = arrayValue, elements.indices.contains(index) else { return nil }
        return elements[index]
    }

    /// Returns the value at a path of keys; in an array a key is a position.
    /// - Parameter path: The keys, outermost first.
    /// - Returns: The value; `nil` if nothing is at the path. An empty path returns the value itself.
    package func value(at path: some Sequence<some StringProtocol>) -> JSONValue? {
        var current: JSONValue? = self
        for key in path {
            current = current.flatMap { value in
                if case .array = value { Int(key).flatMap { value[$0] } } else { value[String(key)] }
            }
        }
        return current
    }
}

extension JSONValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByStringLiteral,
    ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    package init(nilLiteral: ()) { self = .null }
    package init(booleanLiteral value: Bool) { self = .bool(value) }
    package init(stringLiteral value: String) { self = .string(value) }
    package init(integerLiteral value: Int) { self = .number(JSONNumber(value)) }
    package init(floatLiteral value: Double) { self = JSONValue(value) }
    package init(arrayLiteral elements: JSONValue...) { self = .array(elements) }

    /// Makes an object with its members in the order written. If keys are equal, the last value counts.
    package init(dictionaryLiteral elements: (String, JSONValue)...) { self = .object(JSONObject(elements)) }
}
