import Foundation
import Testing

@testable import Operations

private struct Plain: Error { let number = 7 }

private enum Coded: CustomNSError, CustomStringConvertible {
    case full(Int)
    var description: String { "full at 9" }
}

private struct Localized: LocalizedError { var errorDescription: String? { "no disk" } }

@Suite("The stored text of an error", .timeLimit(.minutes(60)))
struct ErrorTextTests {
    @Test("An error of Foundation has a sentence, its domain and code, and the file or URL")
    func foundation() throws {
        let file = #expect(throws: (any Error).self) {
            try Data(contentsOf: URL(fileURLWithPath: "/nowhere/at-all"))
        }
        let text = try #require(file).text
        #expect(text.contains("exist") && text.contains("260") && text.hasSuffix(" At: /nowhere/at-all"), "\(text)")
        let own = NSError(domain: "Disk", code: 4, userInfo: [NSLocalizedDescriptionKey: "no disk"])
        #expect((own as any Error).text == "no disk (Disk error 4.)")
    }

    @Test("An error without a special case keeps its own text")
    func own() {
        #expect((Plain() as any Error).text == "Plain(number: 7)")
        #expect((Coded.full(9) as any Error).text == "full at 9")
        #expect((Localized() as any Error).text == "no disk")
    }
}
