import BrokerModel
import Testing

@testable import TerminalText

@Suite("Safe text", .timeLimit(.minutes(60)))
struct SafeTextTests {
    @Test(
        "Characters that could control a terminal are shown as escapes",
        arguments: [
            ("\u{1B}[31mred", #"\x1b[31mred"#), ("\u{1B}]0;title\u{7}", #"\x1b]0;title\x07"#),
            ("\u{9B}2J", #"\x9b2J"#), ("\u{0}\u{7F}", #"\x00\x7f"#), ("a\tb\nc\r\n", #"a\tb\nc\r\n"#),
            ("\u{202E}fdp.exe", #"\u202efdp.exe"#), ("\u{2066}\u{200F}\u{061C}", #"\u2066\u200f\u061c"#),
            ("\u{2028}\u{2029}", #"\u2028\u2029"#),
        ]
    )
    func escapes(text: String, shown: String) {
        #expect(SafeText.line(text) == shown)
    }

    @Test("Harmless text of any script is unchanged")
    func harmless() {
        for text in ["", "plain", "naïve ¿qué? ²", "日本語", "שלום", "мир", "👩‍💻 ok", "“quoted” — …", #"back\slash"#] {
            #expect(SafeText.line(text) == text)
            #expect(SafeText.log(text) == text)
        }
    }

    @Test("The log view keeps tabs and newlines and drops a carriage return before a newline")
    func log() {
        #expect(SafeText.log("a\tb\r\nc\rd\r") == "a\tb\nc\\rd\\r")
        #expect(SafeText.log("\u{1B}[1mx\n") == "\\x1b[1mx\n")
        #expect(SafeText.log(Array("a\r".utf8) + [0xFF] + Array("\r\n".utf8)) == "a\\r\\xff\n")
    }

    @Test("Bytes that are not UTF-8 are shown one by one, and the text around them stays")
    func invalidBytes() {
        #expect(SafeText.line([0x61, 0xFF, 0xC3, 0xA9, 0xC3]) == #"a\xffé\xc3"#)
        #expect(SafeText.line([0xED, 0xA0, 0x80, 0x62]) == #"\xed\xa0\x80b"#)
        #expect(SafeText.line([0xF0, 0x9F, 0x98]) == #"\xf0\x9f\x98"#)
        #expect(SafeText.line([0xF0, 0x9F, 0x98, 0x80, 0x1B, 0xFE]) == #"😀\x1b\xfe"#)
    }

    @Test("No bytes let a control or bidirectional character through")
    func fuzz() {
        var generator = SeededGenerator(seed: 7)
        let leads: [UInt8] = [0x1B, 0x9B, 0xC2, 0xD8, 0xE2, 0x80, 0x81, 0xAE, 0xA8, 0x9C, 0x0A, 0x0D, 0x09, 0x41]
        for _ in 0..<20_000 {
            let bytes = (0..<Int.random(in: 0..<16, using: &generator)).map { _ in
                Bool.random(using: &generator)
                    ? leads[Int.random(in: 0..<leads.count, using: &generator)]
                    : UInt8.random(in: 0...255, using: &generator)
            }
            for shown in [SafeText.line(bytes), SafeText.line(String(decoding: bytes, as: UTF8.self))] {
                #expect(shown.unicodeScalars.allSatisfy { !isHazard($0) }, "from \(bytes)")
                #expect(SafeText.line(shown) == shown)
            }
            #expect(SafeText.log(bytes).unicodeScalars.allSatisfy { $0 == "\n" || $0 == "\t" || !isHazard($0) })
        }
    }

    /// A second definition of hazards, independent of the code under test.
    private func isHazard(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.generalCategory == .control || scalar.properties.generalCategory == .lineSeparator
            || scalar.properties.generalCategory == .paragraphSeparator
            || (scalar.properties.isBidiControl)
    }
}

@Suite("Display width", .timeLimit(.minutes(60)))
struct DisplayWidthTests {
    @Test(
        "Characters have the width that terminals give them",
        arguments: [
            ("", 0), ("abc", 3), ("é", 1), ("e\u{301}", 1), ("日本", 4), ("ｆｕｌｌ", 8), ("ﾊﾝ", 2), ("한국", 4),
            ("\u{1112}\u{1161}\u{11AB}", 2), ("😀", 2), ("👍🏽", 4), ("🇩🇪", 2), ("❤\u{FE0F}", 2), ("►✓✗⧗⊗∘◷⊘↻", 9),
            ("⇈↑↓⇊", 4), ("a\u{200B}b", 2), ("█░…–", 4), ("𠀀", 2),
        ]
    )
    func widths(text: String, width: Int) {
        #expect(text.displayWidth == width)
    }

    @Test("A text is cut to cells at whole characters, with a mark at its end")
    func truncation() {
        #expect("encode.part7".truncated(toWidth: 12) == "encode.part7")
        #expect("encode.part7".truncated(toWidth: 8) == "encode.…")
        #expect("encode.part7".truncated(toWidth: 8, mark: "~") == "encode.~")
        #expect("日本語".truncated(toWidth: 4) == "日…")
        #expect("日本語".truncated(toWidth: 5) == "日本…")
        #expect("ae\u{301}io".truncated(toWidth: 3) == "ae\u{301}…")
        #expect("abc".truncated(toWidth: 1) == "…")
        #expect("abc".truncated(toWidth: 0).isEmpty)
        #expect("abc".truncated(toWidth: -5).isEmpty)
    }

    @Test("Padding counts cells, not characters")
    func padding() {
        #expect("日".padded(toWidth: 4) == "日  ")
        #expect("7".padded(toWidth: 3, alignment: .right) == "  7")
        #expect("long".padded(toWidth: 2) == "long")
    }

    @Test("A cut text never takes more cells than allowed")
    func fuzz() {
        var generator = SeededGenerator(seed: 8)
        for _ in 0..<5_000 {
            var text = ""
            for _ in 0..<Int.random(in: 0..<12, using: &generator) {
                let scalar = Unicode.Scalar(UInt32.random(in: 0x20..<0x20000, using: &generator))
                if let scalar { text.unicodeScalars.append(scalar) }
            }
            let width = Int.random(in: 0..<12, using: &generator)
            let safe = SafeText.line(text)
            #expect(safe.truncated(toWidth: width).displayWidth <= width)
            #expect(safe.padded(toWidth: width).displayWidth >= width)
        }
    }
}
