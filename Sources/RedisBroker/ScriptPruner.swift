/// Leaves out of an assembled script the functions that it does not use. Lua makes every function of a script anew with each call,
/// and clears it away afterwards: five hundred to a thousand instructions each, where a call for one operation has 200,000.
struct ScriptPruner {
    /// Lines that belong together: a function with its comment, or one line that stands for itself.
    private struct Block {
        /// Nil: always needed.
        var name: Substring?
        var lines: [Substring]

        /// What its code refers to.
        var words: Set<Substring> {
            var words: Set<Substring> = []
            for line in lines where !line.drop(while: { $0 == " " }).isComment {
                words.formUnion(line.split { !$0.isLetter && !$0.isNumber && $0 != "_" })
            }
            return words
        }
    }

    static func prune(_ source: String) -> String {
        let blocks = blocks(of: source)
        var needed: Set<Substring> = []
        var open = blocks.filter { $0.name == nil }
        while let block = open.popLast() {
            for word in block.words.subtracting(needed) {
                needed.insert(word)
                open += blocks.filter { $0.name == word }
            }
        }
        return blocks.filter { $0.name.map(needed.contains) ?? true }.flatMap(\.lines).joined(separator: "\n")
    }

    private static func blocks(of source: String) -> [Block] {
        var blocks: [Block] = []
        var comment: [Substring] = []
        var rest = source.split(separator: "\n", omittingEmptySubsequences: false)[...]
        while let line = rest.popFirst() {
            if line.isComment, line != "-- end of the base" {
                comment.append(line)
                continue
            }
            var block = Block(name: line.functionName, lines: comment + [line])
            comment = []
            if block.name != nil, !line.hasSuffix(" end") {
                while let next = rest.popFirst() {
                    block.lines.append(next)
                    if next == "end" { break }
                }
            }
            blocks.append(block)
        }
        return blocks + [Block(name: nil, lines: comment)]
    }
}

extension Substring {
    fileprivate var isComment: Bool { hasPrefix("--") }

    /// Of a function at the outermost level.
    fileprivate var functionName: Substring? {
        let beginning = "local function "
        guard hasPrefix(beginning), let end = firstIndex(of: "(") else { return nil }
        return self[index(startIndex, offsetBy: beginning.count)..<end]
    }
}
