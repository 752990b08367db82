import TerminalText
/// Computes the bytes that turn one screen into another.
package struct GridDiff: Sendable {
    private let style: Style
    private var output = ""
    /// The position of the terminal's cursor; nil if it is uncertain.
    private var cursor: (x: Int, y: Int)?
    private var look: Look?

    /// - Parameters:
    ///   - old: the current screen; nil = unknown. A screen of another size counts as unknown.
    ///   - new: the new screen.
    /// - Returns: the bytes, as one synchronized update; empty if the screens are equal.
    package static func bytes(from old: Grid?, to new: Grid, style: Style) -> [UInt8] {
        var diff = GridDiff(style: style)
        let base = old.flatMap { $0.size == new.size ? $0 : nil }
        if base == nil { diff.output += "\u{1B}[0m\u{1B}[2J" }
        let blank = base ?? Grid(new.size)
        for y in 0..<new.size.height { diff.draw(row: y, from: blank, to: new) }
        guard !diff.output.isEmpty else { return [] }
        return Array("\u{1B}[?2026h\(diff.output)\u{1B}[0m\u{1B}[?2026l".utf8)
    }

    private init(style: Style) { self.style = style }

    private mutating func draw(row y: Int, from old: Grid, to new: Grid) {
        var x = 0
        while x < new.size.width {
            let cell = new[x, y]
            let width = max(1, cell.width)
            let changed = (0..<width).contains { old[x + $0, y] != new[x + $0, y] }
            if changed { draw(cell, x: x, y: y) }
            x += width
        }
    }

    private mutating func draw(_ cell: Cell, x: Int, y: Int) {
        moveTo(x, y)
        if look != cell.look {
            output += "\u{1B}[\(codes(cell.look))m"
            look = cell.look
        }
        if Self.isReliable(cell.glyph) {
            output.append(cell.glyph)
            cursor = (x + 1, y)
            return
        }
        // Terminals disagree about the width of such characters. So the glyph's cells are cleared first, and the next
        // cell is addressed by its number.
        output += String(repeating: " ", count: cell.width)
        cursor = nil
        moveTo(x, y)
        output.append(cell.glyph)
        cursor = nil
    }

    private mutating func moveTo(_ x: Int, _ y: Int) {
        if let cursor, cursor == (x, y) { return }
        output += "\u{1B}[\(y + 1);\(x + 1)H"
        cursor = (x, y)
    }

    /// Whether a glyph has one cell in all terminals: ASCII, and the monitor's marks, bars and borders.
    private static func isReliable(_ glyph: Character) -> Bool {
        let scalars = glyph.unicodeScalars
        guard scalars.count == 1, let value = scalars.first?.value else { return false }
        return (0x20...0x7E).contains(value) || (0x2500...0x259F).contains(value) || (0x2800...0x28FF).contains(value)
    }

    private func codes(_ look: Look) -> String {
        var codes = ["0"]
        if look.isSelected { codes.append(style.usesColor ? "7" : "1") }
        if style.usesColor {
            if look.isDim { codes.append("2") } else if let role = look.role.codes { codes.append(role) }
        } else if look.role == .heading {
            codes.append("1")
        }
        return codes.joined(separator: ";")
    }
}
