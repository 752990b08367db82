import BrokerModel
import Testing

@testable import SluiceMonitor

@Suite("Keys", .timeLimit(.minutes(60)))
struct KeyDecoderTests {
    private func decode(_ text: String) -> [Key] {
        var decoder = KeyDecoder()
        return decoder.decode(Array(text.utf8)) + decoder.flush()
    }

    @Test(
        "The bytes of a terminal become keys",
        arguments: [
            ("q", [Key.character("q")]), ("G?", [.character("G"), .character("?")]), ("\r", [.enter]), ("\n", [.enter]),
            ("\t", [.tab]), ("\u{7F}", [.backspace]), ("\u{8}", [.backspace]), ("\u{3}", [.control("c")]),
            ("\u{1A}", [.control("z")]), ("\u{1B}", [.escape]), ("\u{1B}[A\u{1B}[B", [.up, .down]), ("\u{1B}OA", [.up]),
            ("\u{1B}[5~\u{1B}[6~", [.pageUp, .pageDown]), ("\u{1B}[H\u{1B}[4~", [.home, .end]),
            ("\u{1B}[1;5C", [.right]), ("\u{1B}[Z", [.backTab]), ("\u{1B}[I\u{1B}[O", [.focusIn, .focusOut]),
            ("é日😀", [.character("é"), .character("日"), .character("😀")]), ("\u{1B}j", [.escape, .character("j")]),
            ("\u{1B}\u{1B}[A", [.escape, .up]), ("\u{1B}[99x", []), ("\u{0}", []),
            ("\u{202E}\u{9B}a", [.character("a")]),
        ]
    )
    func keys(text: String, keys: [Key]) {
        #expect(decode(text) == keys)
    }

    @Test("A sequence may arrive byte by byte")
    func pieces() {
        var decoder = KeyDecoder()
        let keys = Array("\u{1B}[5~é".utf8).flatMap { decoder.decode([$0]) }
        #expect(keys == [.pageUp, .character("é")])
        #expect(!decoder.isWaiting)
    }

    @Test("An escape byte waits for more bytes, and is the Escape key if none follow")
    func loneEscape() {
        var decoder = KeyDecoder()
        #expect(decoder.decode([0x1B]).isEmpty)
        #expect(decoder.isWaiting)
        #expect(decoder.flush() == [.escape])
        #expect(decoder.decode(Array("\u{1B}[".utf8)).isEmpty)
        #expect(decoder.flush().isEmpty)
        #expect(decoder.decode(Array("j".utf8)) == [.character("j")])
    }

    @Test("No byte sequence makes the decoder wait forever or fail")
    func fuzz() {
        var generator = SeededGenerator(seed: 11)
        var stuck: [[UInt8]] = []
        for _ in 0..<5_000 {
            var decoder = KeyDecoder()
            let bytes = (0..<Int.random(in: 1..<80, using: &generator)).map { _ in
                Bool.random(using: &generator)
                    ? [0x1B, 0x5B, 0x3B, 0x4F, 0xE2, 0x80].randomElement(using: &generator) ?? 0
                    : UInt8.random(in: 0...255, using: &generator)
            }
            _ = decoder.decode(bytes)
            _ = decoder.flush()
            if decoder.decode([UInt8(ascii: "j")]) != [.character("j")] { stuck.append(bytes) }
        }
        #expect(stuck.isEmpty)
    }
}
