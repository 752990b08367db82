/// Text that an envelope must have to be worth an answer: all pieces of at least one value.
package struct SoughtText: Sendable, Equatable {
    package var values: [[String]]

    package init(_ values: [[String]]) { self.values = values }

    /// False = it certainly has none of the values. Texts may also be in it in another form: as an escape, or encrypted.
    package func mayBe(in envelope: [UInt8]) -> Bool {
        values.contains { pieces in pieces.allSatisfy { envelope.holds($0) } } || envelope.holds("\\")
            || envelope.holds("\"enc\":")
    }
}

extension [UInt8] {
    /// Whether the text is in the bytes as it is.
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
