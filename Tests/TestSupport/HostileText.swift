import Testing

/// Text that changes a terminal: escape sequences, a title, a clipboard write, a forged line, reversed text.
package enum HostileText {
    package static let samples = [
        "\u{1b}[2J\u{1b}[31mred", "\u{1b}]0;title\u{07}", "\u{1b}]52;c;aGk=\u{1b}\\", "\u{9b}31m",
        "before\rafter", "back\u{08}space", "\u{202e}txt.exe", "\u{2066}iso\u{2069}", "del\u{7f}",
    ]
    package static let all = samples.joined(separator: " ")
}

/// Expects that a text has no control characters except line ends (and tabs, if allowed), and nothing that reorders
/// text.
package func expectSafe(_ text: String, tabs: Bool = false, _ location: SourceLocation = #_sourceLocation) {
    let bad = text.unicodeScalars.filter { scalar in
        switch scalar.value {
        case 0x0a: false
        case 0x09: !tabs
        case 0..<0x20, 0x7f..<0xa0, 0x200e, 0x200f, 0x061c, 0x202a...0x202e, 0x2066...0x2069, 0x2028, 0x2029: true
        default: false
        }
    }
    #expect(
        bad.isEmpty,
        "raw \(bad.map { String($0.value, radix: 16) }) in \(text.debugDescription)",
        sourceLocation: location
    )
}
