import Synchronization
import Testing

@testable import BuiltinOperations

@Suite("Lines of a pipe", .timeLimit(.minutes(60)))
struct LineSplitterTests {
    private func lines(of text: String, limit: Int, chunk: Int) -> [String] {
        let lines = Mutex<[String]>([])
        let splitter = LineSplitter(limit: limit) { line in lines.withLock { $0.append(line) } }
        let bytes = Array(text.utf8)
        for start in stride(from: 0, to: bytes.count, by: chunk) {
            splitter.take(bytes[start..<min(start + chunk, bytes.count)])
        }
        splitter.end()
        return lines.withLock { $0 }
    }

    @Test("Lines are cut between characters at any limit, however the bytes arrive")
    func everyOffset() {
        let text = "ab日本語🙂e\u{301}の長い行"
        for limit in 7...(text.utf8.count + 1) {
            let whole = lines(of: text + "\n" + text, limit: limit, chunk: 1000)
            #expect(lines(of: text + "\n" + text, limit: limit, chunk: 1) == whole)
            #expect(whole.allSatisfy { $0.utf8.count <= limit && !$0.contains("\u{FFFD}") }, "\(limit): \(whole)")
            let joined = whole.map { $0.hasSuffix("…") ? String($0.dropLast()) : $0 + "\n" }.joined()
            #expect(joined == text + "\n" + text + "\n", "\(limit): \(whole)")
        }
    }

    @Test("A line up to the limit stays whole, and no empty line follows it")
    func exactly() {
        #expect(lines(of: "123456\n1234567\n\n12", limit: 6, chunk: 4) == ["123456", "123…", "4567", "", "12"])
    }
}
