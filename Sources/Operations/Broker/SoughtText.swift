/// A filter for envelopes: an envelope matches if it has all pieces of at least one value.
package struct SoughtText: Sendable, Equatable {
    package var values: [[String]]

    package init(_ values: [[String]]) { self.values = values }

    /// Returns false if the envelope certainly has none of the values. An escaped or encrypted envelope may have them
    /// in another form.
    package func mayBe(in envelope: [UInt8]) -> Bool {
        values.contains { pieces in pieces.allSatisfy { envelope.holds($0) } } || envelope.holds("\\")
            || envelope.holds("\"enc\":")
    }
}

extension [UInt8] {
    /// Whether the bytes include the text, unescaped.
    fileprivate func holds(_ text: String) -> Bool {
        let wanted = Array(text.utf8)
        guard let first = wanted.first else { return true }
        return withUnsafeBufferPointer { bytes in
            var start = 0
            while start + wanted.count <= bytes.count {
                guard bytes[start] == first else {
                    start += 1
                    continue
                }
                var matched = 1
                while matched < wanted.count, bytes[start + matched] == wanted[matched] { matched += 1 }
                if matched == wanted.count { return true }
                start += 1
            }
            return false
        }
    }
}
