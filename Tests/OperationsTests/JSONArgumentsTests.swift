import Foundation
import Operations
import Testing

@Suite("Arguments as a literal", .timeLimit(.minutes(60)))
struct JSONArgumentsTests {
    private func text(_ json: JSONArguments) -> String { String(decoding: json.value.serializedBytes(), as: UTF8.self) }

    @Test("A literal keeps the order of members and exact integers")
    func literal() {
        let size = 9_007_199_254_740_993
        let json: JSONArguments = [
            "path": "a \(1).png", "sizes": [200, 0.5], "crop": true, "note": nil, "none": [:], "size": .init(size),
        ]
        let expected =
            #"{"path":"a 1.png","sizes":[200,0.5],"crop":true,"note":null,"none":{},"size":9007199254740993}"#
        #expect(text(json) == expected)
    }

    @Test("A variable, a Codable value and a text become JSON")
    func others() throws {
        #expect(
            [text(.init("a")), text(.init(1.5)), text(.init(false)), text(.init(Double.nan))] == [
                #""a""#, "1.5", "false", "null",
            ]
        )
        #expect(try text(JSONArguments(encoding: ["a": [1, 2]])) == #"{"a":[1,2]}"#)
        #expect(try text(JSONArguments(parsing: #" {"a": 1.50} "#)) == #"{"a":1.50}"#)
        #expect(throws: EncodingError.self) { try JSONArguments(encoding: Double.infinity) }
    }

    @Test("A text that is no JSON is refused with the position")
    func malformed() {
        let error = #expect(throws: OperationsError.self) { try JSONArguments(parsing: #"{"a":}"#) }
        #expect(
            error?.code == .malformed && error?.message.contains("column 6") == true,
            "\(String(describing: error))"
        )
    }
}
