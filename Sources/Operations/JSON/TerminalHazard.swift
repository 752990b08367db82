extension Unicode.Scalar {
    /// Whether this code point may mislead a terminal or a reader.
    ///
    /// True for control characters (C0, DEL, C1), which start escape sequences; for bidirectional controls, which
    /// reorder the displayed text; and for line and paragraph separators.
    package var isTerminalHazard: Bool {
        switch value {
        case 0x00...0x1F, 0x7F...0x9F: true
        case 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}
