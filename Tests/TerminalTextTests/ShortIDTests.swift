import Operations
import Testing

@testable import TerminalText

@Suite("Short forms of ids", .timeLimit(.minutes(60)))
struct ShortIDTests {
    /// Returns an id that ends in a number.
    private func id(_ number: UInt64) -> OperationID { OperationID(high: 0x0198_0000_0000_0000, low: number) }

    @Test("Short ids are as short as possible and still differ")
    func shortIDs() {
        #expect(ShortID.length(for: [id(1), id(2)]) == 6)
        #expect(ShortID.length(for: [OperationID]()) == 6)
        #expect(ShortID.length(for: [id(1), id(1)]) == 6)
        let far = OperationID(high: 1, low: 1)
        #expect(ShortID.length(for: [far, id(1)]) > 6)
        #expect(ShortID.text(id(1), length: 6, style: Style()) == "…000001")
        #expect(ShortID.text(id(1), length: 26, style: Style()) == id(1).description)
    }
}
