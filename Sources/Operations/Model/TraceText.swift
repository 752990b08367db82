extension String {
    /// The text as one word of at most 64 characters and 256 bytes, as authors of changes are stored.
    ///
    /// Redis stores "time by reason" in one value, where `by` is one word and the reason one line.
    package var oneWord: String {
        let word = unicodeScalars.map { $0.properties.isWhitespace || $0.value < 0x20 ? "_" : String($0) }.joined()
        return word.isEmpty ? "-" : String(word.prefix(64)).cut(toBytes: 256)
    }

    /// The text as one line of at most 500 characters, as reasons are stored. A character can have any number of bytes,
    /// so these are limited, too.
    package var oneLine: String {
        unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7f ? " " : String($0) }.joined()
            .cut(toCharacters: 500).cut(toBytes: 2_000)
    }
}
