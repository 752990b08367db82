extension Unicode.Scalar {
    /// The number of terminal cells of this code point: 0 for combining and invisible ones, 2 for East Asian wide
    /// characters and emoji, else 1. Ambiguous characters count 1.
    package var displayWidth: Int {
        if value < 0x300 { return value < 0x20 || (0x7F...0x9F).contains(value) ? 0 : 1 }
        if isZeroWidth { return 0 }
        if (0x1F1E6...0x1F1FF).contains(value) { return 1 }
        return properties.isEmojiPresentation || isEastAsianWide ? 2 : 1
    }

    private var isZeroWidth: Bool {
        if (0x1160...0x11FF).contains(value) || (0xD7B0...0xD7FF).contains(value) { return true }
        switch properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return true
        default: return false
        }
    }

    /// The wide and full-width blocks of Unicode's East Asian Width, without emoji.
    private var isEastAsianWide: Bool {
        switch value {
        case 0x1100...0x115F, 0x2329...0x232A, 0x2E80...0x303E, 0x3041...0x3247, 0x3250...0x4DBF, 0x4E00...0xA4C6,
            0xA960...0xA97C, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6B, 0xFF01...0xFF60,
            0xFFE0...0xFFE6, 0x16FE0...0x1B2FB, 0x1F200...0x1F2FF, 0x20000...0x3FFFD:
            true
        default: false
        }
    }
}

/// The side of a cell at which its text stands.
package enum TextAlignment: Sendable {
    case left, right
}

extension StringProtocol {
    /// The number of terminal cells of the text, counted by code points. Joined emoji count as all their parts.
    /// Terminals differ, and a gap does less harm than a line that is too long.
    package var displayWidth: Int {
        if utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) { return utf8.count }
        var width = 0
        var previous = 0
        for scalar in unicodeScalars {
            let own = scalar == "\u{FE0F}" && previous == 1 ? 1 : scalar.displayWidth
            width += own
            previous = own
        }
        return width
    }

    /// The text cut to a number of cells, whole characters only.
    /// - Parameters:
    ///   - width: The greatest width in cells; below 1 the result is empty.
    ///   - mark: The end of a text that was cut.
    package func truncated(toWidth width: Int, mark: String = "…") -> String {
        guard displayWidth > width else { return String(self) }
        guard width >= mark.displayWidth else { return String(repeating: ".", count: Swift.max(width, 0)) }
        var left = width - mark.displayWidth
        let kept = prefix { character in
            left -= String(character).displayWidth
            return left >= 0
        }
        return kept + mark
    }

    /// The text with spaces up to a number of cells. A wider text stays unchanged.
    package func padded(toWidth width: Int, alignment: TextAlignment = .left) -> String {
        let spaces = String(repeating: " ", count: Swift.max(0, width - displayWidth))
        return alignment == .left ? self + spaces : spaces + self
    }
}
