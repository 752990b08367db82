/// Cuts of text that leave characters whole and say that something is missing.
package enum TextCut {
    /// Stands where text was cut.
    package static let mark = "…"

    /// How far a character is looked for that a cut would divide: no more bytes than this are given up for it.
    private static let window = 64

    /// How many of the first `limit` bytes are whole characters. All bytes where they are not more than that.
    ///
    /// A character of more than 64 bytes is cut between its Unicode scalars, and what is not UTF-8 between any bytes.
    package static func wholeCharacters(in bytes: ArraySlice<UInt8>, limit: Int) -> Int {
        guard bytes.count > limit else { return bytes.count }
        guard limit > 0, let end = scalarBoundary(in: bytes, bytes.startIndex + limit) else { return max(limit, 0) }
        guard end > bytes.startIndex else { return 0 }
        return characterBoundary(in: bytes, end) - bytes.startIndex
    }

    /// The last place up to `end` at which a scalar begins; nil = the bytes there are not UTF-8.
    private static func scalarBoundary(in bytes: ArraySlice<UInt8>, _ end: Int) -> Int? {
        (max(bytes.startIndex, end - 3)...end).reversed().first { bytes[$0] & 0xC0 != 0x80 }
    }

    /// The last place up to `end`, where a scalar begins, at which a character begins.
    private static func characterBoundary(in bytes: ArraySlice<UInt8>, _ end: Int) -> Int {
        guard let start = scalarBoundary(in: bytes, max(bytes.startIndex, end - window)) else { return end }
        let next = bytes[end...].dropFirst().firstIndex { $0 & 0xC0 != 0x80 } ?? bytes.endIndex
        guard let text = String(validating: bytes[start..<next], as: UTF8.self) else { return end }
        var place = text.utf8.index(text.startIndex, offsetBy: end - start)
        while place > text.startIndex, place.samePosition(in: text) == nil { place = text.utf8.index(before: place) }
        return place > text.startIndex ? start + text.utf8.distance(from: text.startIndex, to: place) : end
    }
}

extension String {
    /// The text itself where it has at most `limit` bytes of UTF-8; else its beginning and "…", together at most that many.
    package func cut(toBytes limit: Int) -> String {
        guard utf8.count > limit else { return self }
        let bytes = Array(utf8.prefix(limit + 4))
        let count = TextCut.wholeCharacters(in: bytes[...], limit: limit - TextCut.mark.utf8.count)
        return String(decoding: bytes[..<count], as: UTF8.self) + TextCut.mark
    }

    /// The text itself where it has at most `limit` characters; else its beginning and "…", together that many.
    package func cut(toCharacters limit: Int) -> String {
        guard let end = index(startIndex, offsetBy: limit, limitedBy: endIndex), end < endIndex else { return self }
        return self[..<index(before: end)] + TextCut.mark
    }
}

extension [UInt8] {
    /// These bytes of UTF-8 where they are at most `limit`; else their beginning and "…", together at most that many.
    package func cutText(toBytes limit: Int) -> [UInt8] {
        guard count > limit else { return self }
        let whole = TextCut.wholeCharacters(in: self[...], limit: limit - TextCut.mark.utf8.count)
        return self[..<whole] + Array(TextCut.mark.utf8)
    }
}
