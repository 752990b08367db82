import Operations

/// Makes untrusted text printable. Names, arguments, errors, logs and worker names come from elsewhere, and none of
/// their bytes may control a terminal.
///
/// Control characters (C0, DEL, C1, and with them every escape sequence), bidirectional controls and line separators
/// become visible as `\n`, `\x1b` or `\u202e`. Bytes that are not UTF-8 become `\xff`. All other text stays unchanged.
package enum SafeText {
    /// Text for one line: tabs and newlines are escaped too.
    package static func line(_ text: String) -> String { escaped(text, keepsLayout: false) }

    /// Text for one line from bytes that should be UTF-8.
    package static func line(_ bytes: some Sequence<UInt8>) -> String { escaped(bytes, keepsLayout: false) }

    /// Text for the log view: tabs and newlines stay, a carriage return before a newline is dropped.
    package static func log(_ text: String) -> String { escaped(text, keepsLayout: true) }

    /// Text for the log view from bytes that should be UTF-8.
    package static func log(_ bytes: some Sequence<UInt8>) -> String { escaped(bytes, keepsLayout: true) }

    private static func escaped(_ text: String, keepsLayout: Bool) -> String {
        guard mayNeedEscapes(text) else { return text }
        var writer = SafeTextWriter(keepsLayout: keepsLayout)
        for scalar in text.unicodeScalars { writer.append(scalar) }
        return writer.finished()
    }

    private static func escaped(_ bytes: some Sequence<UInt8>, keepsLayout: Bool) -> String {
        let bytes = Array(bytes)
        if let text = String(validating: bytes, as: UTF8.self) { return escaped(text, keepsLayout: keepsLayout) }
        var writer = SafeTextWriter(keepsLayout: keepsLayout)
        var position = 0
        while position < bytes.count {
            let length = characterLength(bytes, at: position)
            let character = bytes[position..<position + max(length, 1)]
            if length == 0 {
                writer.append(invalid: bytes[position])
            } else {
                for scalar in String(decoding: character, as: UTF8.self).unicodeScalars { writer.append(scalar) }
            }
            position += character.count
        }
        return writer.finished()
    }

    /// The number of bytes of the character at a position; 0 if no valid one starts there.
    private static func characterLength(_ bytes: [UInt8], at position: Int) -> Int {
        var decoder = UTF8()
        var iterator = bytes[position..<min(position + 4, bytes.count)].makeIterator()
        guard case .scalarValue(let scalar) = decoder.decode(&iterator) else { return 0 }
        return UTF8.width(scalar)
    }

    /// A fast check of the bytes. Apart from ASCII controls, every hazard starts with one of three bytes.
    private static func mayNeedEscapes(_ text: String) -> Bool {
        text.utf8.contains { byte in
            switch byte {
            case 0x00...0x1F, 0x7F, 0xC2, 0xD8, 0xE2: true
            default: false
            }
        }
    }
}

/// Collects escaped text.
private struct SafeTextWriter {
    let keepsLayout: Bool
    private var text = String.UnicodeScalarView()
    /// Whether a carriage return is held back until the next character is known.
    private var holdsReturn = false

    init(keepsLayout: Bool) { self.keepsLayout = keepsLayout }

    mutating func append(_ scalar: Unicode.Scalar) {
        if keepsLayout && releaseReturn(before: scalar) { return }
        switch scalar {
        case "\n", "\t": text.append(contentsOf: keepsLayout ? String(scalar).unicodeScalars : Self.short(scalar))
        case "\r": text.append(contentsOf: Self.short(scalar))
        case _ where scalar.isTerminalHazard: text.append(contentsOf: Self.escape(scalar.value).unicodeScalars)
        default: text.append(scalar)
        }
    }

    mutating func append(invalid byte: UInt8) {
        flushReturn()
        text.append(contentsOf: Self.escape(UInt32(byte)).unicodeScalars)
    }

    mutating func finished() -> String {
        flushReturn()
        return String(text)
    }

    /// Holds a carriage return back, and drops a held one before a newline.
    /// - Returns: Whether the character was handled.
    private mutating func releaseReturn(before scalar: Unicode.Scalar) -> Bool {
        if scalar == "\n" { holdsReturn = false } else { flushReturn() }
        if scalar == "\r" { holdsReturn = true }
        return scalar == "\r"
    }

    private mutating func flushReturn() {
        if holdsReturn { text.append(contentsOf: Self.short("\r")) }
        holdsReturn = false
    }

    private static func short(_ scalar: Unicode.Scalar) -> String.UnicodeScalarView {
        switch scalar {
        case "\n": #"\n"#.unicodeScalars
        case "\r": #"\r"#.unicodeScalars
        default: #"\t"#.unicodeScalars
        }
    }

    private static func escape(_ value: UInt32) -> String {
        let digits = String(value, radix: 16)
        return value < 0x100
            ? #"\x"# + String(repeating: "0", count: 2 - digits.count) + digits
            : #"\u"# + String(repeating: "0", count: 4 - digits.count) + digits
    }
}
