import Operations
import Testing

@Suite("Cuts of text", .timeLimit(.minutes(60)))
struct TextCutTests {
    /// Scalars of two to four bytes, and characters of several scalars
    private static let text = "aé日本語🙂 👨‍👩‍👧‍👦🇯🇵e\u{301}か\u{3099} z"

    @Test("A cut ends between two characters and with a mark, wherever the limit is")
    func everyOffset() {
        let bytes = Array(Self.text.utf8)
        for limit in 3..<bytes.count {
            let cut = Self.text.cut(toBytes: limit)
            #expect(cut.utf8.count <= limit && cut.last == "…", "\(limit): \(cut)")
            #expect(Self.text.hasPrefix(String(cut.dropLast())), "\(limit): \(cut)")
            let next = Self.text.dropFirst(cut.count - 1).first?.utf8.count ?? 0
            #expect(cut.utf8.count + next > limit, "\(limit): more would fit in \(cut)")
            #expect(bytes.cutText(toBytes: limit) == Array(cut.utf8))
        }
        for limit in bytes.count...bytes.count + 3 { #expect(Self.text.cut(toBytes: limit) == Self.text) }
    }

    @Test("A cut may split a character of more than 64 bytes between its scalars, and invalid UTF-8 anywhere")
    func noCharacters() {
        let tower = "x" + String(repeating: "\u{301}", count: 100)
        #expect(tower.cut(toBytes: 104).unicodeScalars.count == 51 + 1)
        let noise = [UInt8](repeating: 0x93, count: 20)
        #expect(noise.cutText(toBytes: 13) == [UInt8](repeating: 0x93, count: 10) + Array("…".utf8))
        #expect(noise.cutText(toBytes: 20) == noise)
    }

    @Test("A limit in characters counts characters")
    func characters() {
        #expect("🇯🇵🇯🇵🇯🇵".cut(toCharacters: 3) == "🇯🇵🇯🇵🇯🇵")
        #expect("🇯🇵🇯🇵🇯🇵".cut(toCharacters: 2) == "🇯🇵…")
        #expect("".cut(toCharacters: 2) == "")
    }
}
