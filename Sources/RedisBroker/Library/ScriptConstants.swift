/// Replaces names of constants by their values. A Lua function can have at most 200 locals, and each outer local that a
/// function uses costs time when Lua makes the function.
enum ScriptConstants {
    typealias Line = ScriptPruner.Line

    /// Removes lines `local NAME = 12` and `local NAME = 'text'` unless another line has a local of that name.
    static func inline(_ source: String) -> String {
        let lines = Array(source.utf8).split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        return String(decoding: Array(inline(lines).joined(separator: [UInt8(ascii: "\n")])), as: UTF8.self)
    }

    private static func inline(_ lines: [Line]) -> [Line] {
        let names = Dictionary(grouping: lines.compactMap(\.constantLocalName), by: { $0 }).mapValues(\.count)
        var values: [Line: Line] = [:]
        for line in lines {
            if let (name, value) = line.literalConstant, names[name] == 1 { values[name] = value }
        }
        return lines.filter { $0.literalConstant.map { values[$0.name] == nil } ?? true }.map {
            replacing(values, in: $0)
        }
    }

    /// Replaces names in a line. Only words that begin with an upper-case letter can be names: each worker makes its
    /// scripts when it starts, so it should be quick.
    private static func replacing(_ values: [Line: Line], in line: Line) -> Line {
        guard !line.isComment, line.contains(where: \.isUpperCase) else { return line }
        var result: [UInt8] = []
        var rest = line
        var isQuoted = false
        while let byte = rest.first {
            let word = rest.prefix { $0.isOfWord }
            if word.isEmpty || isQuoted {
                if byte == UInt8(ascii: "'") { isQuoted.toggle() }
                result.append(byte)
                rest = rest.dropFirst()
            } else {
                result += (byte.isUpperCase ? values[word] : nil) ?? word
                rest = rest.dropFirst(word.count)
            }
        }
        return result[...]
    }
}

extension ScriptPruner.Line {
    /// The name in `local NAME = …`, at any indentation; nil if it cannot be that of a constant.
    fileprivate var constantLocalName: ScriptPruner.Line? {
        let text = drop { $0 == UInt8(ascii: " ") }
        guard text.starts(with: "local ".utf8) else { return nil }
        let name = text.dropFirst("local ".utf8.count).prefix { $0.isOfWord }
        return name.first?.isUpperCase == true ? name : nil
    }

    fileprivate var literalConstant: (name: ScriptPruner.Line, value: ScriptPruner.Line)? {
        guard let name = constantName else { return nil }
        let value = dropFirst("local ".utf8.count + name.count + " = ".utf8.count)
        return value.isLiteral ? (name, value) : nil
    }

    /// A number, or a text in quotes without escapes.
    private var isLiteral: Bool {
        let quote = UInt8(ascii: "'")
        if first == quote {
            return count >= 2 && last == quote
                && !dropFirst().dropLast().contains { [quote, UInt8(ascii: "\\")].contains($0) }
        }
        return !isEmpty && allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }
}
