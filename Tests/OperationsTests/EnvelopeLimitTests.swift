import Testing

@testable import Operations

@Suite("The limit of an operation's size", .timeLimit(.minutes(60)))
struct EnvelopeLimitTests {
    /// Returns an envelope with `count` bytes of arguments. JSON escapes the characters of its tags and headers, so
    /// their stored form is longer than the text.
    private func envelope(_ count: Int) -> OperationEnvelope {
        var envelope = OperationEnvelope(name: "large")
        envelope.arguments = Array(repeating: UInt8(ascii: "1"), count: count)
        envelope.tags = Array(
            repeating: String(repeating: "\u{1}", count: SluiceDefaults.tagBytes),
            count: SluiceDefaults.tags
        )
        for number in 0..<SluiceDefaults.headers {
            envelope.headers["\(number + 10)"] = String(repeating: "\"", count: 126)
        }
        envelope.runTimeout = .seconds(1)
        envelope.rerunOf = OperationID()
        return envelope
    }

    @Test("The size limit counts the stored bytes, including tags, headers and all other fields")
    func exact() throws {
        let rest = OperationHeader.byteCount + envelope(0).encoded().count
        let largest = SluiceDefaults.operationBytes - rest
        try envelope(largest).validate()
        for count in [largest + 1, largest + rest - 100] {
            let error = #expect(throws: OperationsError.self) { try envelope(count).validate() }
            #expect(error?.code == .tooLarge)
        }
    }
}
