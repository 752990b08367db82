import BrokerModel
import Testing

@testable import Operations

@Suite("JSON that is read without building values", .timeLimit(.minutes(60)))
struct PlainJSONTests {
    private static let pieces = [
        "{", "}", "[", "]", ",", ":", "\"a\"", "\"b\"", "\"a b~\"", "\"é\"", #""\u0041""#, #""\"""#, "\"\u{7F}\"", "0",
        "-0", "01", "1.5",
        "-1.50e+3", "1.", "-", "1e", "true", "false", "null", "nul", " ", "\t", "\r\n", "\u{0}", "{}", "[]",
        "{\"a\":1}",
        "\"a\":", "\"b\":", "\"c\":", ",\"a\":",
    ]

    @Test("The parser accepts every text that PlainJSON accepts, and writes equal bytes", arguments: 0..<8)
    func agrees(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var taken = 0
        for _ in 0..<20_000 {
            var text = Bool.random(using: &generator) ? "{\"k\":" : "{"
            for _ in 0..<Int.random(in: 0...8, using: &generator) {
                text += Self.pieces.randomElement(using: &generator) ?? ""
            }
            if Bool.random(using: &generator) { text += "}" }
            let bytes = Array(text.utf8)
            guard let plain = PlainJSON(bytes[...], maximumDepth: 4) else { continue }
            taken += 1
            let value = try JSONValue(parsing: bytes, limits: JSONLimits(maximumDepth: 4))
            #expect(plain.bytes == value.serializedBytes(), "\(text)")
            let members = try #require(value.objectValue).members
            #expect(plain.members.map { plain.string($0.key) } == members.map(\.key))
            #expect(plain.members.map { plain.string($0.value) } == members.map { $0.value.serialized() })
        }
        #expect(taken > 500)
    }

    @Test(
        "Plain objects are accepted",
        arguments: [
            "{}", #" { "a" : 1 } "#,
            #"{"name":"noop","args":{"n":[1,-2.5e3,true,null,"x"],"m":{"n":{}}},"tags":["a"]}"#,
        ]
    )
    func plain(text: String) throws {
        let plain = try #require(PlainJSON(Array(text.utf8)[...], maximumDepth: 64))
        #expect(plain.bytes == (try JSONValue(parsing: text)).serializedBytes())
    }

    @Test(
        "All other texts are left to the parser",
        arguments: [
            "", "[]", "1", "{", "{\"a\":1,}", "{\"a\":1}x", "{\"a\":1,\"a\":2}", "{\"b\":{\"a\":1,\"a\":2}}",
            "{\"a\":\"é\"}",
            #"{"a":"\n"}"#, "{\"a\":01}", "{\"a\":{\"b\":[[1]]}}",
        ]
    )
    func notPlain(text: String) {
        #expect(PlainJSON(Array(text.utf8)[...], maximumDepth: 3) == nil)
    }
}
