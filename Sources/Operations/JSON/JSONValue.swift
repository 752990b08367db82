/// A JSON value (RFC 8259) that loses nothing on the way through: object members keep their order, and numbers
/// keep the literal they were written with, so integers are exact to 64 bits and far beyond.
///
/// Two values are equal when they would be written alike: same members in the same order, same number literals
/// (`1` and `1.0` differ), strings compared as Swift compares them.
public enum JSONValue: Sendable, Hashable {
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

    /// An integer as a JSON number.
    /// - Parameter integer: The integer; every fixed-width integer is written exactly.
    /// - Returns: The number.
    public static func number(_ integer: some FixedWidthInteger) -> JSONValue { .number(JSONNumber(integer)) }

    /// A string, or `null` for `nil`.
    /// - Parameter text: The string.
    public init(_ text: String?) { self = text.map(JSONValue.string) ?? .null }

    /// An integer, or `null` for `nil`.
    /// - Parameter integer: The integer.
    public init(_ integer: (some FixedWidthInteger)?) { self = integer.map { .number(JSONNumber($0)) } ?? .null }

    /// A floating-point number, or `null` for `nil` and for what JSON cannot write (not a number, infinity).
    /// - Parameter double: The number.
    public init(_ double: Double?) { self = double.flatMap(JSONNumber.init).map(JSONValue.number) ?? .null }

    /// A truth value, or `null` for `nil`.
    /// - Parameter flag: The truth value.
    public init(_ flag: Bool?) { self = flag.map(JSONValue.bool) ?? .null }
}

extension JSONValue {
    /// Whether this is `null`.
    public var isNull: Bool { self == .null }

    /// The truth value, if this is one.
    public var boolValue: Bool? { if case .bool(let flag) = self { flag } else { nil } }

    /// The number, if this is one.
    public var numberValue: JSONNumber? { if case .number(let number) = self { number } else { nil } }

    /// The string, if this is one.
    public var stringValue: String? { if case .string(let text) = self { text } else { nil } }

    /// The elements, if this is an array.
    public var arrayValue: [JSONValue]? { if case .array(let elements) = self { elements } else { nil } }

    /// The members, if this is an object.
    public var objectValue: JSONObject? { if case .object(let members) = self { members } else { nil } }

    /// The integer, if this is a number written as an integer that fits `Int` (64 bits).
    public var intValue: Int? { numberValue?.integer() }

    /// The number rounded to the nearest `Double`, if this is a number of finite size.
    public var doubleValue: Double? { numberValue?.double }

    /// What kind of value this is, for messages: `an object`, `a string`, `null`.
    public var kind: String {
        switch self {
        case .null: "null"
        case .bool: "a boolean"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }

    /// The member of an object.
    /// - Parameter key: The member's key.
    /// - Returns: Its value; `nil` if there is none or this is no object.
    public subscript(key: String) -> JSONValue? { objectValue?[key] }

    /// The element of an array.
    /// - Parameter index: The position, from 0.
    /// - Returns: The element; `nil` if there is none or this is no array.
    public subscript(index: Int) -> JSONValue? {
        guard let elements = arrayValue, elements.indices.contains(index) else { return nil }
        return elements[index]
    }

    /// The value reached by a path of keys; in an array a key is a position.
    /// - Parameter path: The keys, outermost first.
    /// - Returns: The value; `nil` if the path leads nowhere, the value itself for an empty path.
    public func value(at path: some Sequence<some StringProtocol>) -> JSONValue? {
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
    public init(nilLiteral: ()) { self = .null }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(stringLiteral value: String) { self = .string(value) }
    public init(integerLiteral value: Int) { self = .number(JSONNumber(value)) }
    public init(floatLiteral value: Double) { self = JSONValue(value) }
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }

    /// An object with its members in the order written; of equal keys the last value counts.
    public init(dictionaryLiteral elements: (String, JSONValue)...) { self = .object(JSONObject(elements)) }
}
