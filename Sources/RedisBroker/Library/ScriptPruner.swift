/// Removes unused functions and constants from an assembled script.
///
/// Lua makes every function of a script at each call and clears it away afterwards. A function costs 500 to 1,000
/// instructions, and a call for one operation takes about 200,000. A Lua function can also have at most 200 locals, and
/// each constant is one.
enum ScriptPruner {
    typealias Line = ArraySlice<UInt8>

    /// Lines that belong together: a function with its comment, or a single line.
    private struct Block {
        /// The name of the function or constant; nil = always needed.
        var name: Line?
        var lines: ArraySlice<Line>
    }

    static func prune(_ source: [Line]) -> [Line] {
        let blocks = blocks(of: source)
        var unused: [Line: [Block]] = [:]
        for block in blocks { if let name = block.name { unused[name, default: []].append(block) } }
        var open = blocks.filter { $0.name == nil }
        while let block = open.popLast() {
            for line in block.lines where !line.drop(while: { $0 == UInt8(ascii: " ") }).isComment {
                for word in line.split(whereSeparator: { !$0.isOfWord }) {
                    if let used = unused.removeValue(forKey: word) { open += used }
                }
            }
        }
        return blocks.filter { $0.name.map { unused[$0] == nil } ?? true }.flatMap(\.lines)
    }

    private static func blocks(of lines: [Line]) -> [Block] {
        var blocks: [Block] = []
        var start = 0
        for (index, line) in lines.enumerated() where index >= start {
            if line.isComment, !line.elementsEqual(ScriptAssembler.endOfBase) { continue }
            let name = line.functionName ?? line.constantName
            var end = index + 1
            if line.functionName != nil, !line.ends(with: " end") {
                end = lines[end...].firstIndex { $0.elementsEqual("end".utf8) }.map { $0 + 1 } ?? lines.count
            }
            blocks.append(Block(name: name, lines: lines[start..<end]))
            start = end
        }
        return blocks + [Block(name: nil, lines: lines[start...])]
    }
}

extension ScriptPruner.Line {
    var isComment: Bool { starts(with: "--".utf8) }

    fileprivate func ends(with text: String) -> Bool { suffix(text.utf8.count).elementsEqual(text.utf8) }

    /// The name of a function at the outermost level.
    fileprivate var functionName: ScriptPruner.Line? {
        let beginning = "local function "
        guard starts(with: beginning.utf8), let end = firstIndex(of: UInt8(ascii: "(")) else { return nil }
        return self[(startIndex + beginning.utf8.count)..<end]
    }
}

extension ScriptPruner.Line {
    /// The name of a constant in one line. Constants have upper-case names.
    var constantName: ScriptPruner.Line? {
        let beginning = "local "
        guard starts(with: beginning.utf8), !ends(with: "{"), !ends(with: "(") else { return nil }
        let name = dropFirst(beginning.utf8.count).prefix { $0.isOfWord }
        let isUpper = name.allSatisfy { !(UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) }
        guard !name.isEmpty, isUpper, dropFirst(beginning.utf8.count + name.count).starts(with: " = ".utf8) else {
            return nil
        }
        return name
    }
}

extension UInt8 {
    var isUpperCase: Bool { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) }

    /// Whether the byte can be part of a Lua name.
    var isOfWord: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"): true
        default: false
        }
    }
}
