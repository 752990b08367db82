import BrokerModel
import Operations
import TerminalText
import Testing

@testable import SluiceMonitor

/// A terminal for tests that understands only the sequences that the monitor writes.
private struct TestTerminal {
    let size: ScreenSize
    var glyphs: [[String]]
    private var x = 0
    private var y = 0

    init(_ size: ScreenSize) {
        self.size = size
        glyphs = Array(repeating: Array(repeating: "#", count: size.width), count: size.height)
    }

    mutating func write(_ bytes: [UInt8]) {
        var rest = Substring(String(decoding: bytes, as: UTF8.self))
        while let character = rest.first {
            guard character == "\u{1B}" else {
                put(character)
                rest = rest.dropFirst()
                continue
            }
            let end = rest.dropFirst(2).firstIndex { $0.isLetter } ?? rest.index(before: rest.endIndex)
            perform(rest[end], rest[rest.index(rest.startIndex, offsetBy: 2)..<end])
            rest = rest[rest.index(after: end)...]
        }
    }

    private mutating func perform(_ command: Character, _ parameters: Substring) {
        switch command {
        case "H":
            let numbers = parameters.split(separator: ";").compactMap { Int($0) }
            (y, x) = (numbers[0] - 1, numbers[1] - 1)
        case "J": glyphs = glyphs.map { $0.map { _ in " " } }
        case "m", "h", "l": break
        default: Issue.record("unknown sequence \(parameters)\(command)")
        }
    }

    private mutating func put(_ character: Character) {
        let width = String(character).displayWidth
        guard y < size.height, x + width <= size.width else {
            Issue.record("written outside of the screen: \(character) at \(x), \(y)")
            return
        }
        glyphs[y][x] = String(character)
        for offset in 1..<max(1, width) { glyphs[y][x + offset] = "" }
        x += width
    }

    var text: String { glyphs.map { $0.joined() }.joined(separator: "\n") }
}

@Suite("The grid and its differences", .timeLimit(.minutes(60)))
struct GridTests {
    private let size = ScreenSize(width: 12, height: 3)

    private func full(_ grid: Grid) -> String {
        (0..<grid.size.height)
            .map { y in (0..<grid.size.width).map { grid[$0, y].width == 0 ? "" : String(grid[$0, y].glyph) }.joined() }
            .joined(separator: "\n")
    }

    @Test("Two equal screens produce no output")
    func nothing() {
        var grid = Grid(size)
        grid.put("hello", x: 1, y: 1, look: Look(.dead))
        #expect(GridDiff.bytes(from: grid, to: grid, style: Style(usesColor: true)) == [])
        #expect(GridDiff.bytes(from: Grid(size), to: Grid(size), style: Style()) == [])
    }

    @Test("One changed cell costs one move and one character, in one synchronized update")
    func oneCell() {
        var old = Grid(size)
        old.put("live 0.1s", x: 0, y: 0)
        var new = Grid(size)
        new.put("live 0.2s", x: 0, y: 0)
        let bytes = GridDiff.bytes(from: old, to: new, style: Style())
        #expect(String(decoding: bytes, as: UTF8.self) == "\u{1B}[?2026h\u{1B}[1;8H\u{1B}[0m2\u{1B}[0m\u{1B}[?2026l")
    }

    @Test("The difference turns any screen into the new one")
    func random() {
        var generator = SeededGenerator(seed: 5)
        let words = ["plain", "日本", "é", "👩‍💻", "►█░", "\u{1B}[2J", "e\u{301}x", "…", "  "]
        let roles = TextRole.allCases
        func grid() -> Grid {
            var grid = Grid(size)
            for _ in 0..<Int.random(in: 0..<6, using: &generator) {
                grid.put(
                    words.randomElement(using: &generator) ?? "",
                    x: Int.random(in: -1..<13, using: &generator),
                    y: Int.random(in: -1..<4, using: &generator),
                    look: Look(roles.randomElement(using: &generator) ?? .plain)
                )
            }
            return grid
        }
        for _ in 0..<500 {
            var terminal = TestTerminal(size)
            var shown: Grid?
            for _ in 0..<4 {
                let next = grid()
                terminal.write(GridDiff.bytes(from: shown, to: next, style: Style(usesColor: true)))
                shown = next
                #expect(terminal.text == full(next))
            }
        }
    }

    @Test("A screen of another size is drawn anew")
    func resized() {
        let bytes = GridDiff.bytes(from: Grid(ScreenSize(width: 5, height: 1)), to: Grid(size), style: Style())
        #expect(String(decoding: bytes, as: UTF8.self).contains("\u{1B}[2J"))
    }

    @Test("Half of a wide glyph never stays behind, and no wide glyph is cut at the edge")
    func wideGlyphs() {
        var grid = Grid(ScreenSize(width: 5, height: 1))
        grid.put("日本語", x: 0, y: 0)
        #expect(grid.text == "日本")
        grid.put("x", x: 1, y: 0)
        #expect(full(grid) == " x本 ")
        grid.put("y", x: 2, y: 0)
        #expect(full(grid) == " xy  ")
    }

    @Test("Negative and huge sizes are bounded")
    func sizes() {
        #expect(ScreenSize(width: -3, height: -1) == ScreenSize(width: 0, height: 0))
        #expect(ScreenSize(width: .max, height: .max).width == 1_000)
        var grid = Grid(ScreenSize(width: 0, height: 0))
        grid.put("x", x: 0, y: 0)
        #expect(grid.text.isEmpty)
    }

    @Test("The grid contains no control characters, and an ASCII screen only ASCII")
    func hazards() {
        var grid = Grid(ScreenSize(width: 20, height: 1))
        grid.put("a\u{1B}b\u{202E}c\u{9B}\r\n", x: 0, y: 0)
        #expect(grid.text(row: 0) == "a?b?c??")
        var ascii = Grid(ScreenSize(width: 20, height: 1), isASCII: true)
        ascii.put("é…–日 x", x: 0, y: 0)
        #expect(ascii.text(row: 0) == "?~-? x")
    }

    @Test("A name whose end matters is cut at its beginning, at whole characters")
    func keepingEnd() {
        #expect("vm-20655".keepingEnd(toWidth: 8, mark: "…") == "vm-20655")
        #expect("web-host-20655".keepingEnd(toWidth: 8, mark: "…") == "…t-20655")
        #expect("日本語".keepingEnd(toWidth: 4, mark: "…") == "…語")
        #expect("x".keepingEnd(toWidth: 0, mark: "…") == "…")
    }

    @Test("Output without colour contains no colour codes")
    func noColour() {
        let grid = shopModel().grid(80, 24)
        let plain = String(decoding: GridDiff.bytes(from: nil, to: grid, style: Style(usesColor: false)), as: UTF8.self)
        #expect(!plain.contains("[0;3"))
        let painted = String(
            decoding: GridDiff.bytes(from: nil, to: grid, style: Style(usesColor: true)),
            as: UTF8.self
        )
        #expect(painted.contains("[0;31m"))
    }
}
