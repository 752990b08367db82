/// Puts a script together: a line `-- include: NAME` is replaced by that file of `Scripts/includes`, the first time that it is named. A file
/// includes what it uses itself, so the order of the lines does not matter.
struct ScriptAssembler {
    typealias Line = ArraySlice<UInt8>
    private static let marker = Array("-- include: ".utf8)
    static let endOfBase = Array("-- end of the base".utf8)

    private let testClock: Bool
    private var included: Set<String> = []

    init(testClock: Bool) { self.testClock = testClock }

    func source(of script: ScriptName) -> String {
        var assembler = self
        return Self.nest(ScriptPruner.prune(assembler.expand(script.entry.file())))
    }

    /// The lines of a file, with those of its includes.
    private mutating func expand(_ file: [UInt8]) -> [Line] {
        var lines: [Line] = []
        for line in file.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            guard line.starts(with: Self.marker) else {
                lines.append(line)
                continue
            }
            let name = String(decoding: line.dropFirst(Self.marker.count), as: UTF8.self)
            guard included.insert(name).inserted else { continue }
            lines += expand(ScriptIncludes.file(name, testClock: testClock))
        }
        return lines
    }

    /// Puts everything behind the base (whose last part is `rest`, where a fast path stands before it) into a function. Lua searches all
    /// locals of a chunk one by one, each time that it makes a function of this chunk that refers to one; not those further out.
    private static func nest(_ lines: [Line]) -> String {
        guard let end = lines.lastIndex(where: { $0.elementsEqual(endOfBase) }) else { return text(lines[...]) }
        return text(lines[...end]) + "return (function()\n" + text(lines[(end + 1)...]) + "end)()\n"
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
