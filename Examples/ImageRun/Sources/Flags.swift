/// The arguments of one command: words, and flags with one value each.
struct Flags: Hashable {
    private let words: [String]
    private let values: [String: String]

    /// - Parameters:
    ///   - arguments: the arguments after the command.
    ///   - words: the names of the words that the command takes, for messages.
    ///   - flags: the flags that the command knows.
    init(_ arguments: [String], words names: [String] = [], flags: Set<String>) throws(ImageRunError) {
        var words: [String] = []
        var values: [String: String] = [:]
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            guard argument.hasPrefix("--") else {
                words.append(argument)
                continue
            }
            guard flags.contains(argument) else { throw ImageRunError(.usage, "unknown flag \(argument)") }
            guard let value = rest.popFirst() else { throw ImageRunError(.usage, "\(argument) needs a value") }
            guard values.updateValue(value, forKey: argument) == nil else {
                throw ImageRunError(.usage, "\(argument) is given twice")
            }
        }
        if words.count < names.count { throw ImageRunError(.usage, "\(names[words.count]) is missing") }
        if words.count > names.count { throw ImageRunError(.usage, "unexpected argument \"\(words[names.count])\"") }
        (self.words, self.values) = (words, values)
    }

    subscript(word: Int) -> String { words[word] }

    subscript(flag: String) -> String? { values[flag] }

    func required(_ flag: String) throws(ImageRunError) -> String {
        guard let value = values[flag] else { throw ImageRunError(.usage, "\(flag) is missing") }
        return value
    }

    /// Returns the number of a flag, or the default if the flag is missing.
    func number<Number: FixedWidthInteger>(
        _ flag: String,
        default standard: Number? = nil,
        in range: ClosedRange<Number>
    ) throws(ImageRunError) -> Number {
        if values[flag] == nil, let standard { return standard }
        let text = try required(flag)
        guard let number = Number(text), range.contains(number) else {
            throw ImageRunError(
                .usage,
                "\(flag) is \"\(text)\", expected a number from \(range.lowerBound) to \(range.upperBound)"
            )
        }
        return number
    }
}
