import Operations
import TerminalText

/// A size in cells, never negative.
package struct ScreenSize: Sendable, Equatable {
    package let width: Int
    package let height: Int

    package init(width: Int, height: Int) {
        self.width = min(max(0, width), 1_000)
        self.height = min(max(0, height), 1_000)
    }
}

/// The style of a cell.
package struct Look: Sendable, Hashable {
    package var role: TextRole
    /// Whether the data is old.
    package var isDim: Bool
    /// Whether the cell is in the selected row.
    package var isSelected: Bool

    package init(_ role: TextRole = .plain, isDim: Bool = false, isSelected: Bool = false) {
        self.role = role
        self.isDim = isDim
        self.isSelected = isSelected
    }
}

/// One cell of the screen.
package struct Cell: Sendable, Hashable {
    package var glyph: Character
    /// The width of the glyph in cells; 0 = another cell of the glyph to the left.
    package var width: Int
    package var look: Look

    package init(_ glyph: Character = " ", width: Int = 1, look: Look = Look()) {
        self.glyph = glyph
        self.width = width
        self.look = look
    }
}

/// A piece of text with one role.
package struct Span: Sendable, Equatable {
    package var text: String
    package var role: TextRole

    package init(_ text: String, _ role: TextRole = .plain) {
        self.text = text
        self.role = role
    }
}

/// The content of the screen: rows of cells. Drawing outside of it does nothing.
package struct Grid: Sendable, Equatable {
    package let size: ScreenSize
    /// Whether to draw only ASCII. Other characters become `?`.
    let isASCII: Bool
    package private(set) var cells: [Cell]

    package init(_ size: ScreenSize, isASCII: Bool = false) {
        self.size = size
        self.isASCII = isASCII
        cells = Array(repeating: Cell(), count: size.width * size.height)
    }

    package subscript(x: Int, y: Int) -> Cell { cells[y * size.width + x] }

    /// Draws text from a cell up to, but not including, `limit` or the right edge.
    ///
    /// - Returns: the column after the text.
    @discardableResult
    package mutating func put(_ text: String, x: Int, y: Int, look: Look = Look(), limit: Int? = nil) -> Int {
        let limit = min(limit ?? size.width, size.width)
        guard (0..<size.height).contains(y), x >= 0 else { return x }
        var x = x
        for character in text {
            let glyph = drawable(character)
            let width = String(glyph).displayWidth
            guard width > 0 else { continue }
            guard x + width <= limit else { break }
            set(glyph, width: width, x: x, y: y, look: look)
            x += width
        }
        return x
    }

    /// Draws spans one after the other.
    @discardableResult
    package mutating func put(_ spans: [Span], x: Int, y: Int, look: Look = Look(), limit: Int? = nil) -> Int {
        var x = x
        for span in spans {
            var look = look
            look.role = span.role
            x = put(span.text, x: x, y: y, look: look, limit: limit)
        }
        return x
    }

    /// Changes the look of a part of a row.
    mutating func restyle(y: Int, from start: Int = 0, to end: Int? = nil, _ change: (inout Look) -> Void) {
        guard (0..<size.height).contains(y) else { return }
        for x in max(0, start)..<max(max(0, start), min(end ?? size.width, size.width)) {
            change(&cells[y * size.width + x].look)
        }
    }

    /// Clears a part of the screen.
    mutating func clear(x: Range<Int>, y: Range<Int>) {
        for row in y.clamped(to: 0..<size.height) {
            for column in x.clamped(to: 0..<size.width) { set(" ", width: 1, x: column, y: row, look: Look()) }
        }
    }

    /// The text of a row without trailing spaces, for tests.
    package func text(row y: Int) -> String {
        let glyphs = (0..<size.width).map { self[$0, y] }.filter { $0.width > 0 }.map { String($0.glyph) }
        return String(glyphs.joined().reversed().drop { $0 == " " }.reversed())
    }

    /// The text of all rows, for tests.
    package var text: String { (0..<size.height).map { text(row: $0) }.joined(separator: "\n") }

    /// Replaces control characters, as a last line of defense.
    private func drawable(_ character: Character) -> Character {
        if let ascii = character.asciiValue { return (0x20..<0x7F).contains(ascii) ? character : "?" }
        if isASCII { return Self.replacements[character] ?? "?" }
        let isHazard = character.unicodeScalars.contains { $0.isTerminalHazard }
        return isHazard ? "?" : character
    }

    private static let replacements: [Character: Character] = ["–": "-", "—": "-", "…": "~", "·": "|", "×": "x"]

    /// Sets a cell. If it was a part of a wide glyph, the other parts are cleared as well.
    private mutating func set(_ glyph: Character, width: Int, x: Int, y: Int, look: Look) {
        let index = y * size.width + x
        let rowEnd = (y + 1) * size.width
        blankGlyph(at: index, before: rowEnd)
        blankGlyph(at: index + width - 1, before: rowEnd)
        cells[index] = Cell(glyph, width: width, look: look)
        for offset in 1..<max(1, width) { cells[index + offset] = Cell(" ", width: 0, look: look) }
    }

    /// Clears all cells of the wide glyph that covers a cell. Does nothing if no wide glyph covers it.
    private mutating func blankGlyph(at index: Int, before rowEnd: Int) {
        var first = index
        while cells[first].width == 0 { first -= 1 }
        let width = cells[first].width
        guard width > 1 else { return }
        for cell in first..<min(rowEnd, first + width) { cells[cell] = Cell(" ", look: cells[cell].look) }
    }
}
