extension JSONValue {
    /// Returns the value as JSON text on one line, without spaces.
    ///
    /// The text is printable everywhere: control characters (C0, DEL, C1), bidirectional controls and line separators
    /// are written as `\u` escapes, in addition to JSON's own escapes. So no value can reach a terminal raw. Reading
    /// the text back gives an equal value.
    package func serialized() -> String { String(decoding: serializedBytes(), as: UTF8.self) }

    /// Returns the value as UTF-8 bytes of JSON on one line, as ``serialized()`` writes it.
    package func serializedBytes() -> [UInt8] {
        var serializer = JSONSerializer(indentation: nil)
        serializer.write(self, depth: 0)
        return serializer.bytes
    }

    /// Returns the value as JSON text for people: one member or element a line, indented by two spaces, without a
    /// newline at the end. The escapes are those of ``serialized()``.
    package func prettySerialized() -> String {
        var serializer = JSONSerializer(indentation: 2)
        serializer.write(self, depth: 0)
        return String(decoding: serializer.bytes, as: UTF8.self)
    }
}

extension JSONValue: CustomStringConvertible {
    /// The value as compact JSON.
    package var description: String { serialized() }
}

/// Writes values as bytes.
struct JSONSerializer {
    /// The number of spaces per level; `nil` = all on one line.
    let indentation: Int?
    private(set) var bytes: [UInt8] = []

    init(indentation: Int?) { self.indentation = indentation }

    mutating func write(_ value: JSONValue, depth: Int) {
        switch value {
        case .null: bytes += "null".utf8
        case .bool(let flag): bytes += (flag ? "true" : "false").utf8
        case .number(let number): bytes += number.literal.utf8
        case .string(let text): write(text)
        case .array(let elements):
            writeList("[", elements, "]", depth: depth) { $0.write($1, depth: depth + 1) }
        case .object(let object):
            writeList("{", object.members, "}", depth: depth) { $0.write($1, depth: depth + 1) }
        }
    }

    private mutating func write(_ member: JSONObject.Member, depth: Int) {
        write(member.key)
        bytes += (indentation == nil ? ":" : ": ").utf8
        write(member.value, depth: depth)
    }

    private mutating func writeList<Item>(
        _ open: StaticString,
        _ items: [Item],
        _ close: StaticString,
        depth: Int,
        each: (inout JSONSerializer, Item) -> Void
    ) {
        bytes.append(open.utf8Start[0])
        for (position, item) in items.enumerated() {
            if position > 0 { bytes.append(UInt8(ascii: ",")) }
            breakLine(depth: depth + 1)
            each(&self, item)
        }
        if !items.isEmpty { breakLine(depth: depth) }
        bytes.append(close.utf8Start[0])
    }

    private mutating func breakLine(depth: Int) {
        guard let indentation else { return }
        bytes.append(UInt8(ascii: "\n"))
        bytes += repeatElement(UInt8(ascii: " "), count: depth * indentation)
    }

    private mutating func write(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        if text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }) {
            bytes += text.utf8
        } else {
            for scalar in text.unicodeScalars { write(scalar) }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private mutating func write(_ scalar: Unicode.Scalar) {
        switch scalar {
        case "\"": bytes += #"\""#.utf8
        case "\\": bytes += #"\\"#.utf8
        case "\n": bytes += #"\n"#.utf8
        case "\r": bytes += #"\r"#.utf8
        case "\t": bytes += #"\t"#.utf8
        case _ where scalar.isTerminalHazard:
            bytes += #"\u"#.utf8
            bytes += String(scalar.value, radix: 16).zeroPadded(to: 4).utf8
        default: bytes += UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter
        }
    }
}
