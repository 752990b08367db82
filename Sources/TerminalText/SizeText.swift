/// Sizes in bytes as people type them: `500M`, `2G`, `1.5G`, `65536`.
package enum SizeText {
    private static let units: [(letter: Character, bytes: Int64)] = [
        ("K", 1 << 10), ("M", 1 << 20), ("G", 1 << 30), ("T", 1 << 40),
    ]

    /// Reads a number with a unit in steps of 1,024: `K`, `M`, `G` or `T`, also as `MB` or `MiB`, in upper or lower
    /// case. A number without a unit is in bytes.
    /// - Throws: `TextError` with the text and a correct example in its message.
    package static func parse(_ text: String) throws(TextError) -> Int64 {
        let number = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
        guard number.first?.isNumber == true, number.last != ".", let value = Double(number) else { throw error(text) }
        let bytes = value * Double(try unit(text.dropFirst(number.count), of: text))
        guard bytes < Double(Int64.max / 2) else { throw error(text) }
        return Int64(bytes.rounded())
    }

    private static func unit(_ name: Substring, of text: String) throws(TextError) -> Int64 {
        let name = name.uppercased()
        guard let letter = name.first else { return 1 }
        guard let unit = units.first(where: { $0.letter == letter }), ["", "B", "IB"].contains(name.dropFirst()) else {
            throw error(text)
        }
        return unit.bytes
    }

    private static func error(_ text: String) -> TextError {
        TextError(
            code: .size,
            message: "\"\(SafeText.line(text))\" is not a size: write a number and a unit: 512K, 500M, 2G"
        )
    }
}
