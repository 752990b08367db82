/// A JSON number as its literal text, which is rounded only in a conversion to a Swift number.
package struct JSONNumber: Sendable, Hashable {
    /// The number as written in JSON.
    package let literal: String

    /// Makes the number of an integer.
    /// - Parameter integer: The integer, written exactly.
    package init(_ integer: some FixedWidthInteger) { literal = String(integer) }

    /// Makes the number of a `Double`: the shortest literal that reads back as an equal `Double`.
    /// - Parameter double: The number.
    /// - Returns: `nil` for infinity and not-a-number, which JSON cannot write.
    package init?(_ double: Double) {
        guard double.isFinite else { return nil }
        let text = "\(double)"
        literal = text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }

    /// Makes a number from its literal.
    /// - Parameter literal: Text in JSON's number grammar: no plus sign, no leading zeros, no bare point.
    /// - Returns: `nil` if the text is not a JSON number.
    package init?(literal: String) {
        var parser = JSONParser(bytes: Array(literal.utf8), limits: JSONLimits())
        guard case .number(let number)? = try? parser.parseDocument(), number.literal == literal else { return nil }
        self = number
    }

    /// For the parser, which has checked the grammar.
    init(checkedLiteral: String) { literal = checkedLiteral }

    /// Returns the number as an integer.
    /// - Parameter type: The integer's type.
    /// - Returns: The integer; `nil` if the number does not fit, or is written with a fraction or an exponent.
    package func integer<Integer: FixedWidthInteger>(as type: Integer.Type = Integer.self) -> Integer? {
        Integer(literal)
    }

    /// The number rounded to the nearest `Double`; `nil` if the number is too large.
    package var double: Double? {
        guard let value = Double(literal), value.isFinite else { return nil }
        return value
    }
}
