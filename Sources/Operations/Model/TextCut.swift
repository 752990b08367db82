/// Cuts text between characters and marks the cut.
package enum TextCut {
    /// The mark of a cut.
    package static let mark = "…"

    /// How many bytes to search backwards for the beginning of a character that the cut would divide.
    private static let window = 64

    /// Returns how many of the first `limit` bytes are whole characters; the number of all bytes if they are at most
    /// `limit`.
    ///
    /// A character of more than 64 bytes is cut between its Unicode scalars, and invalid UTF-8 between any bytes.
    package static func wholeCharacters(in bytes: ArraySlice<UInt8>, limit: Int) -> Int {
        guard bytes.count > limit else { return bytes.count }
        guard limit > 0, let end = scalarBoundary(in: bytes, bytes.startIndex + limit) else { return max(limit, 0) }
        guard end > bytes.startIndex else { return 0 }
        return characterBoundary(in: bytes, end) - bytes.startIndex
    }

    /// Returns the last place up to `end` at which a scalar begins; nil = the bytes there are not UTF-8.
    private static func scalarBoundary(in bytes: ArraySlice<UInt8>, _ end: Int) -> Int? {
        (max(bytes.startIndex, end - 3)...end).reversed().first { bytes[$0] & 0xC0 != 0x80 }
    }

    /// Returns the last place up to `end` (where a scalar begins) at which a character begins.
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
    /// Returns the text if it has at most `limit` bytes of UTF-8; otherwise its beginning and "…", in at most `limit`
    /// bytes.
    package func cut(toBytes limit: Int) -> String {
        guard utf8.count > limit else { return self }
        let bytes = Array(utf8.prefix(limit + 4))
        let count = TextCut.wholeCharacters(in: bytes[...], limit: limit - TextCut.mark.utf8.count)
        return String(decoding: bytes[..<count], as: UTF8.self) + TextCut.mark
    }

    /// Returns the text if it has at most `limit` characters; otherwise its beginning and "…", in `limit` characters.
    package func cut(toCharacters limit: Int) -> String {
        guard let end = index(startIndex, offsetBy: limit, limitedBy: endIndex), end < endIndex else { return self }
        return self[..<index(before: end)] + TextCut.mark
    }
}

extension [UInt8] {
    /// Returns these bytes of UTF-8 if they are at most `limit`; otherwise their beginning and "…", in at most `limit`
    /// bytes.
    package func cutText(toBytes limit: Int) -> [UInt8] {
        guard count > limit else { return self }
        let whole = TextCut.wholeCharacters(in: self[...], limit: limit - TextCut.mark.utf8.count)
        return self[..<whole] + Array(TextCut.mark.utf8)
    }
}
