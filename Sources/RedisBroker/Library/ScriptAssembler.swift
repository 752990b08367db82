/// Assembles a script from its file and its includes.
///
/// A line `-- include: NAME` is replaced by that file of `Scripts/includes`, the first time that it is named. Each file
/// includes what it uses itself. Files with a line `-- in the base` come first, in the order in which they are
/// included. A fast path in the base therefore comes after the files that it uses and before the rest.
///
/// All other files are put into one function after the base. Whenever Lua makes a function, it searches one by one the
/// locals of the enclosing function that the new function uses. Locals further out cost nothing.
struct ScriptAssembler {
    typealias Line = ArraySlice<UInt8>
    private static let comment = Array("-- ".utf8)
    private static let include = Array("-- include: ".utf8)
    private static let inTheBase = Array("-- in the base".utf8)
    static let endOfBase = Array("-- end of the base".utf8)

    private let testClock: Bool
    private var included: Set<String> = []
    private var base: [Line] = []

    init(testClock: Bool) { self.testClock = testClock }

    func source(of script: ScriptName) -> String {
        var assembler = self
        let lines = assembler.expand(script.entry.file())
        let header = lines.prefix { $0.starts(with: Self.comment) }
        let rest = lines.dropFirst(header.count)
        return Self.nest(header + ScriptPruner.prune(assembler.base + [Self.endOfBase[...]] + rest))
    }

    /// The lines of a file and its includes, without includes that belong to the base.
    private mutating func expand(_ file: [UInt8]) -> [Line] {
        var lines: [Line] = []
        for line in file.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            guard line.starts(with: Self.include) else {
                lines.append(line)
                continue
            }
            let name = String(decoding: line.dropFirst(Self.include.count), as: UTF8.self)
            guard included.insert(name).inserted else { continue }
            let others = expand(ScriptIncludes.file(name, testClock: testClock))
            if others.contains(where: { $0.elementsEqual(Self.inTheBase) }) { base += others } else { lines += others }
        }
        return lines
    }

    private static func nest(_ lines: [Line]) -> String {
        guard let end = lines.firstIndex(where: { $0.elementsEqual(endOfBase) }) else { return text(lines[...]) }
        return text(lines[..<end]) + "return (function()\n" + text(lines[(end + 1)...]) + "end)()\n"
    }

    private static func text(_ lines: ArraySlice<Line>) -> String {
        var bytes: [UInt8] = []
        for line in lines {
            bytes += line
            bytes.append(UInt8(ascii: "\n"))
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
