import Operations
import Testing

/// A small seeded generator (SplitMix64): a failing case can be repeated.
private struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

@Suite("JSON values", .timeLimit(.minutes(60)))
struct JSONValueTests {
    @Test("Reading and writing gives the same text, with key order and number literals kept")
    func roundTrip() throws {
        let text = #"{"z":1,"a":[true,false,null,-0,1.50,1e+9,"é"],"m":{},"n":[],"big":123456789012345678901234567890}"#
        #expect(try JSONValue(parsing: text).serialized() == text)
    }

    @Test("Integers are exact to 64 bits, and a number that does not fit is nil instead of rounded")
    func exactIntegers() throws {
        let value = try JSONValue(parsing: "[9223372036854775807,-9223372036854775808,18446744073709551615,1.0]")
        #expect(value[0]?.intValue == .max)
        #expect(value[1]?.intValue == .min)
        #expect(value[2]?.intValue == nil)
        #expect(value[2]?.numberValue?.integer(as: UInt64.self) == .max)
        #expect(value[3]?.intValue == nil)
        #expect(value[3]?.doubleValue == 1)
        #expect(try JSONValue(parsing: "1e999").doubleValue == nil)
    }

    @Test("Escapes of every kind are read")
    func escapes() throws {
        #expect(try JSONValue(parsing: #""\"\\\/\b\f\n\r\t\u0041\uD83D\uDE00""#) == "\"\\/\u{8}\u{C}\n\r\tA😀")
    }

    @Test("Written JSON holds no control, bidirectional or separator character, and reads back equal")
    func hostileText() throws {
        let hostile: JSONValue = ["k\u{1B}[2J": "\u{0}\u{7F}\u{9B}31m\u{202E}\u{2066}\u{2028}\u{061C} ok"]
        for text in [hostile.serialized(), hostile.prettySerialized()] {
            #expect(text.unicodeScalars.allSatisfy { $0 == "\n" || (0x20...0x7E).contains($0.value) })
            #expect(try JSONValue(parsing: text) == hostile)
        }
        #expect(hostile.serialized().hasPrefix(#"{"k\u001b[2J":"\u0000\u007f\u009b31m\u202e"#))
    }

    @Test("Pretty JSON is indented by two spaces and empty lists stay on one line")
    func pretty() {
        let value: JSONValue = ["a": [1, ["b": "c"]], "e": [], "o": [:]]
        let expected = """
            {
              "a": [
                1,
                {
                  "b": "c"
                }
              ],
              "e": [],
              "o": {}
            }
            """
        #expect(value.prettySerialized() == expected)
    }

    @Test(
        "A mistake is reported with its place, what was found and what was expected",
        arguments: [
            ("", "line 1, column 1: found the end of the input, expected a value"),
            ("{\n  \"a\": }", "line 2, column 8: found '}', expected a value"),
            ("[1 2]", "line 1, column 4: found '2', expected ',' or ']'"),
            ("[1,]", "line 1, column 4: found ']', expected a value"),
            ("{\"é\":1,}", "line 1, column 8: found '}', expected a key in double quotes"),
            ("{a:1}", "line 1, column 2: found 'a', expected a key in double quotes"),
            ("{\"a\" 1}", "line 1, column 6: found '1', expected ':'"),
            ("01", "line 1, column 2: found '1', expected the end of the input"),
            ("1.", "line 1, column 3: found the end of the input, expected a digit"),
            ("-x", "line 1, column 2: found 'x', expected a digit"),
            ("+1", "line 1, column 1: found '+', expected a value"),
            ("nul", "line 1, column 4: found the end of the input, expected 'null'"),
            ("NaN", "line 1, column 1: found 'N', expected a value"),
            ("'a'", "line 1, column 1: found ''', expected a value"),
            ("\"a\nb\"", "line 1, column 3: found the end of the line, expected a character, an escape or '\"'"),
            ("\"\u{1B}\"", "line 1, column 2: found the byte 0x1B, expected a character, an escape or '\"'"),
            (#""\x""#, "line 1, column 3: found 'x', expected one of \"\\/bfnrtu"),
            (#""\u12g4""#, "line 1, column 6: found 'g', expected four hexadecimal digits"),
            (#""\ud800""#, "line 1, column 2: found half a surrogate pair, expected a whole one"),
            (#""\udc00""#, "line 1, column 2: found half a surrogate pair, expected a whole one"),
            ("{\"a\":1,\"a\":2}", "line 1, column 8: found a key for the second time, expected each key once"),
            ("\u{FEFF}1", "line 1, column 1: found the byte 0xEF, expected a value"),
            ("1 // one", "line 1, column 3: found '/', expected the end of the input"),
        ]
    )
    func mistakes(text: String, message: String) {
        let error = #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: text) }
        #expect(error?.description == message)
    }

    @Test("Bytes that are not UTF-8 are refused at the first bad byte")
    func invalidUTF8() {
        for bad: [UInt8] in [[0xFF], [0xC3], [0xED, 0xA0, 0x80], [0xC0, 0x80], [0xF4, 0x90, 0x80, 0x80]] {
            let error = #expect(throws: JSONSyntaxError.self) {
                try JSONValue(parsing: Array("[\"é".utf8) + bad + Array("\"]".utf8))
            }
            #expect(error?.code == .invalidUnicode)
            #expect(error?.offset == 4)
            #expect(error?.column == 4)
        }
    }

    @Test("Nesting is read to the limit and refused one level further")
    func depth() throws {
        let atLimit = String(repeating: "[", count: 64) + String(repeating: "]", count: 64)
        #expect(try JSONValue(parsing: atLimit).serialized() == atLimit)
        let error = #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: "[" + atLimit + "]") }
        #expect(error?.code == .tooDeep)
        let bottomless = String(repeating: "{\"a\":[", count: 100_000)
        #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: bottomless) }
    }

    @Test("A text over the byte limit is refused before parsing")
    func tooLong() throws {
        #expect(try JSONValue(parsing: "12345", limits: JSONLimits(maximumBytes: 5)).intValue == 12345)
        let error = #expect(throws: JSONSyntaxError.self) {
            try JSONValue(parsing: "123456", limits: JSONLimits(maximumBytes: 5))
        }
        #expect(error?.code == .tooLong)
    }

    @Test("With lastWins the last value of a key counts, at the place of the first")
    func duplicateKeys() throws {
        let limits = JSONLimits(duplicateKeys: .lastWins)
        let value = try JSONValue(parsing: #"{"a":1,"b":2,"a":3}"#, limits: limits)
        #expect(value.serialized() == #"{"a":3,"b":2}"#)
    }

    @Test("Keys that only look alike are different keys")
    func canonicalEquivalence() throws {
        let text = "{\"\u{E9}\":1,\"e\u{301}\":2}"
        let value = try JSONValue(parsing: text)
        #expect(value["\u{E9}"] == 1)
        #expect(value["e\u{301}"] == 2)
    }

    @Test("An object with many members keeps order through setting, replacing and removing")
    func largeObject() {
        var object = JSONObject()
        for number in 0..<1_000 { object["k\(number)"] = JSONValue(number) }
        object["k500"] = "replaced"
        object["k0"] = nil
        #expect(object.count == 999)
        #expect(object.keys.first == "k1")
        #expect(object["k0"] == nil)
        #expect(object["k500"] == "replaced")
        #expect(object["k999"] == 999)
        for number in 10..<1_000 { object["k\(number)"] = nil }
        #expect(object.keys == (1..<10).map { "k\($0)" })
        #expect(object["k9"] == 9)
    }

    @Test("A path leads through objects and arrays")
    func path() throws {
        let value = try JSONValue(parsing: #"{"user":{"ids":[7,42]}}"#)
        #expect(value.value(at: "user.ids.1".split(separator: "."))?.intValue == 42)
        #expect(value.value(at: ["user", "ids", "2"]) == nil)
        #expect(value.value(at: ["user", "name"]) == nil)
    }

    @Test("Numbers come from Swift numbers and from checked literals only")
    func numbers() {
        #expect(JSONValue(0.1).serialized() == "0.1")
        #expect(JSONValue(3.0).serialized() == "3")
        #expect(JSONValue(Double.infinity) == .null)
        #expect(JSONNumber(literal: "1e400")?.literal == "1e400")
        for bad in ["", "1 ", " 1", "0x1", "1_000", "true", "\"1\"", ".5"] { #expect(JSONNumber(literal: bad) == nil) }
    }

    @Test("Codable types go through JSON values")
    func codable() throws {
        struct Point: Codable, Equatable {
            var y: Int
            var x: [String]
        }
        let point = Point(y: .max, x: ["a/b"])
        let value = try JSONValue(encoding: point)
        #expect(value.serialized() == #"{"x":["a/b"],"y":9223372036854775807}"#)
        #expect(try value.decoded(as: Point.self) == point)
    }

    @Test("Random values come back equal from compact and pretty text")
    func fuzzRoundTrip() throws {
        var generator = SeededGenerator(state: 1)
        for _ in 0..<2_000 {
            let value = randomValue(depth: 0, using: &generator)
            #expect(try JSONValue(parsing: value.serialized()) == value)
            #expect(try JSONValue(parsing: value.prettySerialized()) == value)
        }
    }

    @Test("Mutated and random bytes never crash the parser, and what it accepts it writes stably")
    func fuzzParser() throws {
        var generator = SeededGenerator(state: 2)
        let alphabet = Array(#"{}[]:,"\ue0123456789.+-Eatrufnlse \#n"#.utf8)
        var accepted = 0
        for round in 0..<20_000 {
            var bytes: [UInt8]
            if round.isMultiple(of: 2) {
                bytes = randomValue(depth: 0, using: &generator).serializedBytes()
                let position = Int.random(in: 0..<bytes.count, using: &generator)
                bytes[position] = UInt8.random(in: 0...255, using: &generator)
            } else {
                bytes = (0..<Int.random(in: 0...12, using: &generator)).map { _ in
                    alphabet[Int.random(in: 0..<alphabet.count, using: &generator)]
                }
            }
            guard let value = try? JSONValue(parsing: bytes) else { continue }
            accepted += 1
            #expect(try JSONValue(parsing: value.serialized()) == value)
        }
        #expect(accepted > 1_000)
    }

    private func randomValue(depth: Int, using generator: inout SeededGenerator) -> JSONValue {
        switch Int.random(in: 0..<(depth < 4 ? 8 : 5), using: &generator) {
        case 0: return .null
        case 1: return .bool(Bool.random(using: &generator))
        case 2: return .number(Int.random(in: .min ... .max, using: &generator))
        case 3: return JSONValue(Double(bitPattern: generator.next()))
        case 4, 5: return .string(randomText(using: &generator))
        case 6:
            let count = Int.random(in: 0..<5, using: &generator)
            return .array((0..<count).map { _ in randomValue(depth: depth + 1, using: &generator) })
        default:
            var object = JSONObject()
            for _ in 0..<Int.random(in: 0..<16, using: &generator) {
                object[randomText(using: &generator)] = randomValue(depth: depth + 1, using: &generator)
            }
            return .object(object)
        }
    }

    private func randomText(using generator: inout SeededGenerator) -> String {
        var text = ""
        for _ in 0..<Int.random(in: 0..<8, using: &generator) {
            let limit: UInt32 = [0x80, 0x800, 0x3000, 0x110000].randomElement(using: &generator) ?? 0x80
            let scalar = Unicode.Scalar(UInt32.random(in: 0..<limit, using: &generator))
            if let scalar { text.unicodeScalars.append(scalar) }
        }
        return text
    }
}
